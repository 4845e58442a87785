/**
 * The shapes named by hand must be those of the API document: this file does nothing but fail to compile when they part.
 */

import type { components } from "../../../sdk/typescript/src/api";
import type * as mine from "./extra";

/** The document calls a field that may be null optional; on the wire it is always there. */
type Always<T> = T extends (infer Item)[]
  ? Always<Item>[]
  : T extends object
    ? { [Key in keyof T]-?: Always<T[Key]> }
    : T;
type Schemas = components["schemas"];
type Wire<Name extends keyof Schemas> = Always<Schemas[Name]>;
/** Fails to compile unless every value the server may send fits what the page reads. */
type Fits<Sent extends Read, Read> = Sent;

export type Checked = [
  Fits<Wire<"DecisionWord">, mine.Word>,
  Fits<Wire<"Risk">, mine.Risk>,
  Fits<Wire<"State">, mine.State>,
  Fits<Wire<"Kind">, mine.Kind>,
  Fits<Wire<"Role">, mine.Role>,
  Fits<Wire<"InputType">, mine.InputType>,
  Fits<Wire<"Needs">, mine.Needs>,
  Fits<Wire<"VoteRecord">, mine.Vote>,
  Fits<Wire<"Row">, mine.Row>,
  Fits<Wire<"RowPage">, mine.RowPage>,
  Fits<Wire<"Preview">, mine.Preview>,
  Fits<Wire<"Display">, mine.Display>,
  Fits<Wire<"HistoryRecord">, mine.RequestHistory>,
  Fits<Wire<"SessionItem">, mine.SessionItem>,
  Fits<Wire<"LinkRecord">, mine.SignInLink>,
  Fits<Wire<"TicketRecord">, mine.Ticket>,
  Fits<Wire<"LedgerStatus">, mine.LedgerStatus>,
  Fits<Wire<"StatsRecord">, mine.Stats>,
];
