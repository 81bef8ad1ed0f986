import { isUtf8 } from 'node:buffer'
import { isRecord, parseJson } from './json-value.ts'
import type { FuzzSetup } from './requests.ts'

const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const DEPTH_MAX = 32
const VALUES_MAX = 10_000

/**
 * Decides independently of the gateway whether a body may succeed. Only read-only methods may. It is exact about strict
 * JSON (E4, E5).
 */
export function mayBeSuccess(body: Buffer, known: FuzzSetup): boolean {
  const request = strictObject(body)
  if (request === undefined) return false
  const { method, params, service_id, ...more } = request
  if (Object.keys(more).length > 0) return false
  if (method === 'gateway.ping') return isExactly(params, {})
  const names_route = [known.service_id, known.disabled_service_id].some(
    (id) => String(id) === String(service_id),
  )
  if (method === 'balance.get') return isExactly(params, {}) && (service_id === undefined || names_route)
  if (method !== 'payment.status') return false
  return [known.notified, known.without_callback].some(({ c_id, h_id }) =>
    [{ c_id }, { h_id }, { c_id, h_id }].some((identifiers) =>
      isExactly(params, { payment: { identifiers } }),
    ),
  )
}

function isExactly(value: unknown, wanted: object): boolean {
  return sorted(value) === sorted(wanted)
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** Parses a body that is a strict JSON object. Every other body must be refused as a whole (E4). */
export function strictObject(body: Buffer): Record<string, unknown> | undefined {
  if (!isUtf8(body) || body.subarray(0, 3).equals(BYTE_ORDER_MARK)) return undefined
  const text = body.toString()
  if (depthOf(text) > DEPTH_MAX) return undefined
  const value = parseJson(text)
  if (!isRecord(value) || valuesOf(value) > VALUES_MAX) return undefined
  const keys = [...text.matchAll(STRING)].filter(([, colon]) => colon !== undefined).length
  return keysOf(value) === keys ? value : undefined
}

/** Counts the brackets outside strings. For text that is not JSON the result has no meaning. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [bracket] of text.replace(STRING, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** Counts a value and all values within it. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

/** Counts the keys that JSON.parse kept. It keeps one of several equal keys, so a duplicate lowers the count. */
function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, inner) => sum + keysOf(inner), own)
}
