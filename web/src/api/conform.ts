/**
 * The shapes named by hand must be those of the API document: this file fails to compile when they differ.
 */

import type { components } from "../../../sdk/typescript/src/api";
import type * as mine from "./extra";

type Schemas = components["schemas"];
type Wire<Name extends keyof Schemas> = Schemas[Name];
/** Fails to compile unless every value the server may send fits what the page reads. */
type Fits<Sent extends Read, Read> = Sent;

export type CheckedShapes = [
  Fits<Wire<"Display">, mine.Display>,
  Fits<Wire<"Warning">, mine.Warning>,
  Fits<Wire<"VoteRecord">, mine.Vote>,
  Fits<Wire<"SessionRecord">, mine.Session>,
  Fits<Wire<"ProblemDocument">["status"], mine.Problem["status"]>,
];
