"""Installs a package as pip would: the folder gets its metadata with entry points."""

POINTS = {
    "rewind.agents": "mean_action = rewind_plugin.agent:MeanAction",
    "rewind.priorities": "last_reward = rewind_plugin.priority:LAST_REWARD",
    "rewind.readers": "steps = rewind_plugin.reader:READER",
    "rewind.environments": "Corridor-v0 = rewind_plugin.environment:Corridor",
}


def install(folder, name="rewind-plugin", points=POINTS):
    """folder: to be put on the path"""
    metadata = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("".join(f"[{group}]\n{point}\n" for group, point in points.items()))
