import sys
from pathlib import Path

# The scripted model of the LangChain tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "langchain"))
