import { readFileSync, statSync } from 'node:fs'
import type { z } from 'zod'
import { deepFreeze } from '../deep-freeze.ts'
import { systemErrorCode } from '../files.ts'

/** The variables of a process by name, as `process.env` has them. */
export type Variables = Readonly<Record<string, string | undefined>>

/** The text of a variable, which is empty when it is absent, or the problem with it. */
type VariableText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string }

const FILE_MAX_BYTES = 65_536

/** `<SERVICE>_PORT` can be the name of a setting too, so its value decides. */
const LINK_PORT_VALUE = /^(?:tcp|udp|sctp):\/\//

/**
 * Whether Kubernetes injected the address of a service instead of a port. A service named `multihub-grpc` makes it set
 * `MULTIHUB_GRPC_PORT=tcp://10.0.0.1:9090` in every pod of the namespace, which is not meant as a setting (R7).
 */
function isPortLink(variable: string, text: string): boolean {
  return variable.endsWith('_PORT') && LINK_PORT_VALUE.test(text)
}

/** The name of the variable that holds the path of a secret's file. */
export function fileVariableOf(variable: string): string {
  return `${variable}_FILE`
}

/** Reads a variable without the white space around it. The address of a service counts as absent. */
function readVariable(variable: string, variables: Variables): string {
  const text = variables[variable]?.trim() ?? ''
  return isPortLink(variable, text) ? '' : text
}

/** Reads a secret: from its variable, or from the file that `<VARIABLE>_FILE` names (R7). */
export function readSecretVariable(variable: string, variables: Variables): VariableText {
  const text = readVariable(variable, variables)
  const file_variable = fileVariableOf(variable)
  const path = readVariable(file_variable, variables)
  if (path === '') return { ok: true, text }
  if (text !== '')
    return { ok: false, problem: `${variable} and ${file_variable} are both set: remove one of them` }
  return readSecretFile(file_variable, path)
}

function readSecretFile(variable: string, path: string): VariableText {
  try {
    if (statSync(path).size > FILE_MAX_BYTES)
      return { ok: false, problem: `${variable} names a file above ${FILE_MAX_BYTES} bytes` }
    const text = readFileSync(path, 'utf8').trim()
    return text === '' ? { ok: false, problem: `${variable} names an empty file` } : { ok: true, text }
  } catch (error) {
    return { ok: false, problem: `${variable} cannot be read (${systemErrorCode(error)})` }
  }
}

/** The names of the variables that Kubernetes and Docker inject for a service, apart from `<SERVICE>_PORT`. */
const LINK_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** The result of reading one variable: its value, or the problem. A problem never shows the text: it may be secret. */
type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

/** One setting: its process variable, the expected content in words, and its default. */
export interface Setting<T> {
  readonly variable: string
  readonly expected: string
  /** What the setting is for, as one sentence for the documentation. */
  readonly purpose?: string
  /** The default as the documentation shows it; `undefined` when the variable must be set. */
  readonly default_text: string | undefined
  /** Whether the content can be in a file that the variable `<variable>_FILE` names. */
  readonly in_file?: true
  /** Whether it is a port that the process listens on. */
  readonly is_port?: true
  /** The value when the variable is absent or empty. */
  readonly absent: () => Reading<T>
  readonly read: (text: string) => Reading<T>
}

/** The settings of one role, by their names in code. */
export type ConfigSchema = Readonly<Record<string, Setting<unknown>>>

/** The values that a schema gives. */
export type Config<S extends ConfigSchema> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never
}

/** One row of the table of settings in the documentation. */
export interface SettingDescription {
  readonly variable: string
  readonly purpose: string
  readonly expected: string
  readonly default: string
}

/** The process variables contain wrong settings. The message has one line per problem and shows no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      [
        'the configuration is not valid; correct these settings:',
        ...problems.map((problem) => `  ${problem}`),
      ].join('\n'),
    )
    this.problems = problems
  }
}

/**
 * Reads the settings of a role from the process variables, once, at start. It reports all problems in one
 * `ConfigError`, so that an operator can correct them together. The result is frozen. An empty variable and a link to a
 * service that Kubernetes injects count as absent (R7).
 */
export function readConfig<S extends ConfigSchema>(schema: S, variables: Variables = process.env): Config<S> {
  const problems = new Set<string>()
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(schema)) {
    const found = setting.in_file
      ? readSecretVariable(setting.variable, variables)
      : { ok: true as const, text: readVariable(setting.variable, variables) }
    if (!found.ok) {
      problems.add(found.problem)
      continue
    }
    const reading = found.text === '' ? setting.absent() : setting.read(found.text)
    if (reading.ok) values[name] = deepFreeze(reading.value)
    else problems.add(`${setting.variable} ${reading.problem}`)
  }
  if (problems.size > 0) throw new ConfigError([...problems])
  return Object.freeze(values) as Config<S>
}

/** The variables with a prefix that no setting of the schemas reads. Empty ones and service links are left out. */
export function unknownVariables(
  prefix: string,
  schemas: readonly ConfigSchema[],
  variables: Variables,
): readonly string[] {
  const known = new Set(schemas.flatMap((schema) => Object.values(schema).flatMap(variablesOf)))
  return Object.keys(variables).filter(
    (variable) =>
      variable.startsWith(prefix) &&
      !known.has(variable) &&
      !LINK_NAME.test(variable) &&
      readVariable(variable, variables) !== '',
  )
}

function variablesOf({ variable, in_file }: Setting<unknown>): readonly string[] {
  return in_file ? [variable, fileVariableOf(variable)] : [variable]
}

/** The settings of a role as rows for the documentation, in the order of the schema. */
export function describeConfig(schema: ConfigSchema): readonly SettingDescription[] {
  return Object.values(schema).map(({ variable, purpose = '', expected, default_text, in_file }) => ({
    variable,
    purpose,
    expected: in_file ? `${expected}, or its file in \`${fileVariableOf(variable)}\`` : expected,
    default: default_text ?? 'required',
  }))
}

/** Creates a setting. `schema` converts the text of the variable into the value, or refuses it. */
export function setting<T>(
  variable: string,
  expected: string,
  schema: z.ZodType<T, string>,
  fallback?: { readonly value: T; readonly text: string },
): Setting<T> {
  return {
    variable,
    expected,
    default_text: fallback?.text,
    absent: () =>
      fallback === undefined
        ? { ok: false, problem: `is missing: it must be ${expected}` }
        : { ok: true, value: fallback.value },
    read: (text) => {
      const parsed = schema.safeParse(text)
      return parsed.success
        ? { ok: true, value: parsed.data }
        : { ok: false, problem: `must be ${expected}${where(parsed.error)}` }
    },
  }
}

/** The same setting with its purpose for the documentation. */
export function describedSetting<T>(purpose: string, setting: Setting<T>): Setting<T> {
  return { ...setting, purpose }
}

/** The same setting for a secret, whose content can also be in a file that `<variable>_FILE` names (R7). */
export function inFileSetting<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, in_file: true }
}

/** The same setting, whose value is `undefined` when the variable is absent. */
export function optionalSetting<T>(required: Setting<T>): Setting<T | undefined> {
  return { ...required, default_text: 'not set', absent: () => ({ ok: true, value: undefined }) }
}

/** The positions of the wrong items of a list, with zod's sentences, which name types and never values. */
function where(error: z.ZodError): string {
  const places = error.issues.filter(({ path }) => path.length > 0)
  if (places.length === 0) return ''
  return ` (${places.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')})`
}
