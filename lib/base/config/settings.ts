import { resolve } from 'node:path'
import { z } from 'zod'
import { Secret } from '../crypto/secret.ts'
import { describedSetting, inFileSetting, type Setting, setting } from './config.ts'

interface Bounds {
  readonly min: number
  readonly max: number
  readonly fallback?: number
}

/** A default and its text in the documentation; `undefined` when the variable must be set. */
function shown<T>(value: T | undefined, text = String(value)): { value: T; text: string } | undefined {
  return value === undefined ? undefined : { value, text }
}

/** A text of up to 4,096 characters. */
export function textSetting(variable: string, fallback?: string): Setting<string> {
  return setting(variable, 'a text', z.string().max(4096), shown(fallback))
}

/** A secret text of up to 8,192 characters: a key, a token, a URL with a password. It can also be in a file. */
export function secretSetting(variable: string): Setting<Secret> {
  const schema = z
    .string()
    .max(8192)
    .transform((value) => new Secret(value))
  return inFileSetting(setting(variable, 'a secret text', schema))
}

function integerSchema(min: number, max: number): z.ZodType<number, string> {
  return z
    .string()
    .regex(/^-?\d{1,16}$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
}

/** An integer from `min` to `max`, both included. */
export function integerSetting(variable: string, { min, max, fallback }: Bounds): Setting<number> {
  return setting(variable, `an integer from ${min} to ${max}`, integerSchema(min, max), shown(fallback))
}

/** A TCP port to listen on; 0 takes a free one (R2). */
export function portSetting(variable: string, fallback?: number): Setting<number> {
  const schema = integerSchema(0, 65_535)
  return {
    ...setting(variable, 'a port from 0 (any free one) to 65535', schema, shown(fallback)),
    is_port: true,
  }
}

/** `true` or `false`; 1 and 0 are accepted too. */
export function booleanSetting(variable: string, fallback?: boolean): Setting<boolean> {
  const schema = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], case: 'sensitive' })
  return setting(variable, 'true or false', schema, shown(fallback))
}

/** One of several words. */
export function choiceSetting<const Word extends string>(
  variable: string,
  words: readonly Word[],
  fallback?: Word,
): Setting<Word> {
  return setting(variable, `one of ${words.join(', ')}`, z.enum(words), shown(fallback))
}

/** An absolute URL with one of `protocols`, kept as written. Use `secret` for a URL that may hold a password. */
export function urlSetting(
  variable: string,
  {
    protocols = ['http:', 'https:'],
    fallback,
  }: { readonly protocols?: readonly string[]; readonly fallback?: string } = {},
): Setting<string> {
  const schema = z
    .string()
    .max(2048)
    .refine((text) => protocols.includes(URL.parse(text)?.protocol ?? ''))
  return setting(variable, `a URL that begins with ${protocols.join('// or ')}//`, schema, shown(fallback))
}

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/

/** A duration in milliseconds, written with a unit (`250ms`, `30s`, `5m`, `2h`, `1d`). Bounds are in ms too. */
export function durationSetting(variable: string, { min, max, fallback }: Bounds): Setting<number> {
  const expected = `a time from ${durationText(min)} to ${durationText(max)}, such as 250ms, 30s or 5m`
  const schema = z.string().regex(DURATION).transform(toMilliseconds).pipe(z.int().min(min).max(max))
  const default_text = fallback === undefined ? undefined : durationText(fallback)
  return setting(variable, expected, schema, shown(fallback, default_text))
}

function toMilliseconds(text: string): number {
  const [, digits, unit = 'ms'] = DURATION.exec(text) ?? []
  return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

function durationText(time_ms: number): string {
  return textWithUnit(time_ms, UNIT_MS, 'ms')
}

const UNIT_BYTES = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 } as const
const SIZE = /^(\d{1,12})(B|KB|MB|GB|TB)$/

/** A size in bytes, written with a unit (`512KB`, `64MB`, `2GB`), each 1,024 of the one before. Bounds are in bytes. */
export function sizeSetting(variable: string, { min, max, fallback }: Bounds): Setting<number> {
  const expected = `a size from ${sizeText(min)} to ${sizeText(max)}, such as 64MB or 2GB`
  const schema = z.string().regex(SIZE).transform(toBytes).pipe(z.int().min(min).max(max))
  const default_text = fallback === undefined ? undefined : sizeText(fallback)
  return setting(variable, expected, schema, shown(fallback, default_text))
}

function toBytes(text: string): number {
  const [, digits, unit = 'B'] = SIZE.exec(text) ?? []
  return Number(digits) * UNIT_BYTES[unit as keyof typeof UNIT_BYTES]
}

function sizeText(size_bytes: number): string {
  return textWithUnit(size_bytes, UNIT_BYTES, 'B')
}

/** Writes a value in the largest unit that divides it. `units` are in ascending order. */
function textWithUnit(value: number, units: Readonly<Record<string, number>>, smallest: string): string {
  const descending = Object.entries(units).reverse()
  const [unit, size] = descending.find(([, size]) => value > 0 && value % size === 0) ?? [smallest, 1]
  return `${value / size}${unit}`
}

/** At most `max` texts separated by commas, without the spaces around them. `item` must accept each. */
export function listSetting(
  variable: string,
  options: {
    readonly of?: string
    readonly item?: z.ZodType<string, string>
    readonly max?: number
    readonly fallback?: readonly string[]
  } = {},
): Setting<readonly string[]> {
  const { of = 'texts', item = z.string(), max = 100, fallback } = options
  const schema = z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .pipe(z.array(item).max(max))
  const default_text = fallback?.length === 0 ? 'none' : fallback?.join(',')
  return setting(variable, `up to ${max} ${of} separated by commas`, schema, shown(fallback, default_text))
}

/** The path of a directory, made absolute. Whether it is writable shows when it is opened. */
export function directorySetting(variable: string, fallback?: string): Setting<string> {
  const schema = z
    .string()
    .max(4096)
    .refine((path) => !path.includes('\0'))
    .transform((path) => resolve(path))
  return setting(variable, 'the path of a directory', schema, shown(fallback && resolve(fallback), fallback))
}

/** The address of every listening port. The RPCs, the gateway, payments and the sandbox read it. */
export const HOST_SETTING = describedSetting(
  'The address to which all ports of the process bind.',
  textSetting('MULTIHUB_HOST', '127.0.0.1'),
)

/** The time limit of a create in ms (P5). Payments divides it among the accounts; the gateway waits longer. */
export const CREATE_TIMEOUT_SETTING = describedSetting(
  'How long a create may take at its providers, over all accounts that are tried.',
  durationSetting('MULTIHUB_CREATE_TIMEOUT', { min: 100, max: 60_000, fallback: 30_000 }),
)

/** Where the bytes of attachments are. The gateway and the back office read it. */
export const ATTACHMENTS_URL_SETTING = describedSetting(
  'The URL of the port for the bytes of attachments.',
  urlSetting('MULTIHUB_ATTACHMENTS_URL', { fallback: 'http://127.0.0.1:9095' }),
)

/** Signs requests between payments and the sandbox, in both directions. Payments has no sandbox without it. */
export const SANDBOX_KEY_SETTING = describedSetting(
  'The shared key by which payments and the sandbox authenticate each other.',
  secretSetting('MULTIHUB_SANDBOX_KEY'),
)
