/** The fields of an edit form, from a JSON Schema or from the values themselves. Pure. */
import type { Json, JsonObject } from "@/api/extra";

export type FieldKind = "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json";
export interface FormField {
  name: string;
  kind: FieldKind;
  label: string;
  hint: string | null;
  required: boolean;
  options: string[];
}

function object(value: Json | undefined): JsonObject | null {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
}

function typeOf(schema: JsonObject | null): string | null {
  const type = schema?.type;
  if (typeof type === "string") return type;
  if (Array.isArray(type)) {
    const named = type.filter((one) => one !== "null");
    return named.length === 1 && typeof named[0] === "string" ? named[0] : null;
  }
  return null;
}

function kindOf(schema: JsonObject | null, value: Json | undefined): FieldKind {
  const options = schema?.enum;
  const type = typeOf(schema);
  const fits = (what: string) =>
    type === what || (type === null && (value === undefined || typeof value === what));
  if (Array.isArray(options) && options.every((one) => typeof one === "string")) {
    return value === undefined || (typeof value === "string" && options.includes(value)) ? "choice" : "json";
  }
  // A value that does not fit the schema is shown raw and not converted.
  if (value !== undefined && value !== null && type !== null) {
    const real = Array.isArray(value) ? "array" : typeof value;
    if (type === "integer" ? real !== "number" : real !== type) return "json";
  }
  if (value === null) return "json";
  if (type === "boolean" || (type === null && typeof value === "boolean")) return "boolean";
  if (type === "integer") return "integer";
  if (type === "number" || (type === null && typeof value === "number")) return "number";
  if (type === "string" || (type === null && typeof value === "string" && fits("string"))) {
    return typeof value === "string" && (value.length > 80 || value.includes("\n")) ? "long" : "text";
  }
  return "json";
}

/** One field for every property of the schema and every argument that is there. */
export function formFields(schema: Json | undefined, values: JsonObject): FormField[] {
  const root = object(schema);
  const properties = object(root?.properties) ?? {};
  const required = Array.isArray(root?.required) ? root.required : [];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values)])];
  return names.map((name) => {
    const own = Object.hasOwn(properties, name) ? object(properties[name]) : null;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const kind = kindOf(own, value);
    return {
      name,
      kind,
      label: name,
      hint: typeof own?.description === "string" ? own.description : null,
      required: required.includes(name),
      options: kind === "choice" ? ((own?.enum ?? []) as string[]) : [],
    };
  });
}

/** A number from what was typed; null when it is none. */
export function numberFrom(text: string, integer: boolean): number | null {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())) return null;
  const value = Number(text);
  if (!Number.isFinite(value)) return null;
  if (integer && !Number.isInteger(value)) return null;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return null;
  return value;
}
