"""A cleanup script that asks before it deletes. See try.sh; or, with a server of your own:

    PLACET_TOKEN=… python cleanup.py FOLDER
"""

import sys
from pathlib import Path

import placet


@placet.gate(risk="high", summary="These were not read for a year.", expires_in="10m")
def delete_files(files: list[str]) -> int:
    """Deletes files, and says how many there were."""
    for file in files:
        Path(file).unlink()
    return len(files)


def main(folder: str) -> None:
    old = sorted(str(file) for file in Path(folder).glob("*.old"))
    # The session has a name of its own: killed and started again, the script waits for the same request.
    with placet.session(f"cleanup of {folder}", app="cleanup"):
        result = delete_files(old)
    if isinstance(result, dict):
        print(f"not done: {result['status']}, {result.get('reason') or result['message']}")
    else:
        print(f"{result} of {len(old)} files are gone")


if __name__ == "__main__":
    main(sys.argv[1])
