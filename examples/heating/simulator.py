"""A flat with a heating valve, and the log that its thermostat left: plain NumPy, the same for the same seed.

observation: indoor and wall temperature, outdoor temperature (degrees C), hour of the day (sine, cosine), somebody at
home (0 or 1), price of a kWh (EUR)
action: how far the valve is open, 0 to 100 %, for the next half hour
reward: minus the cost of the heat (EUR), minus what cold or heat is worth to whoever is at home
terminal: the safety switch trips, below 16 or above 25 degrees. A log file ends at midnight: a time-out
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

OBSERVATIONS = ("indoor_c", "wall_c", "outdoor_c", "hour_sin", "hour_cos", "at_home", "price_eur")
HEADER = ("day", "time", *OBSERVATIONS, "valve_pct", "reward", "tripped", "meter_serial", "note")
STEPS = 48  # half hours of a day
COLDEST, HOTTEST = 16.0, 25.0
FIRST_DAY = datetime(2025, 11, 1)


@dataclass
class Flats:
    """Many flats at once; all arrays are (flats,). half_hour: of the day, 0 to 47"""

    indoor: Array
    wall: Array
    weather: Array  # how much warmer than usual it is outside
    half_hour: Array

    def observe(self) -> Array:
        """(flats, 7)"""
        angle = 2 * np.pi * self.half_hour / STEPS
        outdoor = 4 + self.weather + 4 * np.sin(angle - 0.75 * np.pi)
        home = (self.half_hour < 16) | (self.half_hour >= 34)
        price = np.where((self.half_hour < 12) | (self.half_hour >= 44), 0.12, 0.36)
        columns = (self.indoor, self.wall, outdoor, np.sin(angle), np.cos(angle), home, price)
        return np.stack(columns, axis=1).astype(np.float32)

    def step(self, valve: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Half an hour with `valve`, 0 to 100. Returns rewards and whether the safety switch trips, each (flats,)."""
        seen = self.observe()
        outdoor, home, price = seen[:, 2], seen[:, 5], seen[:, 6]
        opening = np.clip(valve, 0, 100) / 100
        noise = rng.normal(0, [[0.08], [0.5]], (2, len(self.indoor)))
        warmer = 0.12 * (self.wall - self.indoor) + 0.04 * (outdoor - self.indoor) + 2.0 * opening + 0.1 * home
        self.wall = self.wall + 0.03 * (self.indoor - self.wall)
        self.indoor = self.indoor + warmer + noise[0]
        self.weather = 0.98 * self.weather + noise[1]
        self.half_hour = (self.half_hour + 1) % STEPS
        cold, hot = np.maximum(20.5 - self.indoor, 0), np.maximum(self.indoor - 23, 0)
        tripped = (self.indoor < COLDEST) | (self.indoor > HOTTEST)
        return -1.5 * price * opening - 0.3 * home * (cold + hot) - 10.0 * tripped, tripped


def flats_like(observations: Array) -> Flats:
    """Flats in the states that observations, (flats, 7), show."""
    indoor, wall, outdoor, sine, cosine = np.asarray(observations, np.float64).T[:5]
    angle = np.arctan2(sine, cosine)
    half_hour = np.round(angle * STEPS / (2 * np.pi)).astype(int) % STEPS
    return Flats(indoor, wall, outdoor - 4 - 4 * np.sin(angle - 0.75 * np.pi), half_hour)


def worth(policy: Callable[[Array], Array], starts: Array, discount: float = 0.99, seed: int = 1) -> Array:
    """(flats,) The truth: what a policy earns from these observations on, discounted, days after days."""
    flats, rng = flats_like(starts), np.random.default_rng(seed)
    total, factor = np.zeros(len(starts)), np.ones(len(starts))
    while factor.max() > 1e-3:
        rewards, tripped = flats.step(policy(flats.observe())[:, 0], rng)
        total += factor * rewards
        factor *= discount * ~tripped
    return total


class Thermostat:
    """What made the log: a proportional controller. Its owners turn its knob every day, and sometimes the valve."""

    def __init__(self, flats: int, rng: np.random.Generator) -> None:
        self.rng, self.flats = rng, flats
        self.new_day()

    def new_day(self) -> None:
        self.wanted, self.gain = self.rng.uniform([[18.5], [10.0]], [[23.0], [40.0]], (2, self.flats))

    def __call__(self, observations: Array) -> Array:
        """(flats,) whole percents."""
        valve = 40 + self.gain * (self.wanted - observations[:, 0]) + self.rng.normal(0, 10, self.flats)
        tried = self.rng.random(self.flats) < 0.1
        return np.round(np.clip(np.where(tried, self.rng.uniform(0, 100, self.flats), valve), 0, 100))


def write_log(path: Path, flats: int = 10, days: int = 90, seed: int = 0) -> None:
    """A log as such logs are: rows out of order, some of them twice, columns that nobody needs, gaps in the notes.

    A day of a flat is an episode. Its last row is the state at midnight, without action and reward, unless the switch
    tripped; then the flat starts anew the next day.
    """
    rng = np.random.default_rng(seed)
    state = Flats(rng.normal(20, 1, flats), rng.normal(19, 1, flats), rng.normal(0, 2.5, flats), np.zeros(flats, int))
    thermostat, rows = Thermostat(flats, rng), []
    for day in range(days):
        thermostat.new_day()
        midnight = FIRST_DAY + timedelta(days=day)
        running = np.ones(flats, bool)
        for half_hour in range(STEPS + 1):
            seen = state.observe()
            valve = thermostat(seen)
            rewards, tripped = state.step(valve, rng) if half_hour < STEPS else (np.zeros(flats), ~running)
            for flat in np.flatnonzero(running):
                about = (f"flat{flat}-{day:03d}", f"{midnight + half_hour * timedelta(minutes=30):%Y-%m-%dT%H:%M}")
                done = (f"{valve[flat]:.0f}", f"{rewards[flat]:.4f}", "yes" if tripped[flat] else "no")
                numbers = tuple(f"{number:.4g}" for number in seen[flat])
                notes = (f"M{1000 + flat}", "filter changed" if rng.random() < 0.001 else "")
                rows.append((*about, *numbers, *(done if half_hour < STEPS else ("", "", "no")), *notes))
            running &= ~tripped
        anew = ~running
        state.indoor = np.where(anew, rng.normal(20, 1, flats), state.indoor)
        state.wall = np.where(anew, rng.normal(19, 1, flats), state.wall)
        state.half_hour[:] = 0
    rows += [rows[at] for at in rng.choice(len(rows), len(rows) // 500, replace=False)]
    order = np.argsort(np.arange(len(rows)) + rng.uniform(0, 20 * flats, len(rows)), kind="stable")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(rows[at] for at in order)
