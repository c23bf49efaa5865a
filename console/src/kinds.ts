/** The kinds of destinations, as the OpenAPI document of the server describes them. Packages may add some. */
import { call } from "./api";
import type { Json } from "./documents";

interface Schema {
  type?: string;
  description?: string;
  writeOnly?: boolean;
  anyOf?: Schema[];
}

export interface Member {
  name: string;
  about: string;
  type: string;
  isSecret: boolean;
}

export interface Kind {
  name: string;
  about: string;
  /** The members that a document must have. */
  required: Member[];
  /** The member with a password, if there is one. */
  secret?: Member;
}

interface Rule {
  if: { properties: { kind: { const: string } } };
  then: { description: string; required: string[]; properties: { [name: string]: Schema } };
}

interface OpenApi {
  paths: { [path: string]: { put: { requestBody: { content: { [type: string]: { schema: { allOf: [unknown, { allOf: Rule[] }] } } } } } } };
}

/** All kinds, in the order of the server. */
export async function kinds(signal: AbortSignal): Promise<Kind[]> {
  const document = await call<OpenApi>("GET", "/openapi.json", { signal });
  const [, rules] = document.paths["/v1/destinations/{id}"]!.put.requestBody.content["application/json"]!.schema.allOf;
  return rules.allOf.map((rule) => {
    const members = Object.entries(rule.then.properties).map(([name, schema]) => member(name, schema));
    const required = members.filter((one) => rule.then.required.includes(one.name));
    return { name: rule.if.properties.kind.const, about: rule.then.description, required, secret: members.find((one) => one.isSecret) };
  });
}

function member(name: string, schema: Schema): Member {
  const own = schema.anyOf?.find((one) => one.type !== "null") ?? schema; // optional ones may be null
  return { name, about: own.description ?? name, type: own.type ?? "string", isSecret: own.writeOnly ?? false };
}

/** A text as the value of a member: lists have commas between. */
export function valueOf(one: Member, text: string): Json {
  if (one.type === "array") return text.split(/[\s,]+/).filter((part) => part !== "");
  if (one.type === "integer" || one.type === "number") return Number(text);
  return text;
}
