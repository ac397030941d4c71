from tests.report.browser import chromium, visit

__all__ = ["chromium", "visit"]  # fixtures
