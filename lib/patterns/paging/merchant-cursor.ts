import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { canonicalJson, type JsonValue } from '../idempotency/idempotency.ts'
import {
  decodePageToken,
  encodePageToken,
  type Position,
  type PositionFields,
  type PositionOf,
} from './read-page.ts'

/** The list that a cursor belongs to: its name, its merchant and environment, and its filters. */
export type CursorScope = Readonly<Record<string, JsonValue | undefined>>

/** Sealed, a position of the longest fields is far shorter. */
const CURSOR_MAX = 1_024

/**
 * Encodes the position after which the next page of a merchant's list begins (S6). The cursor is encrypted and
 * authenticated for its scope, so it is opaque, and valid in no other list and with no other filters.
 */
export function sealCursor(keyring: Keyring, scope: CursorScope, position: Position): string {
  return keyring.seal(new Secret(encodePageToken(position)), ownerOf(scope))
}

/**
 * Decodes a cursor; an empty one is `undefined`, the beginning of the list. Throws 9000 for a text that is not a cursor of
 * this scope, under the path `params.cursor`.
 */
export function openCursor<F extends PositionFields>(
  keyring: Keyring,
  scope: CursorScope,
  cursor: string,
  fields: F,
): PositionOf<F> | undefined {
  if (cursor === '') return undefined
  try {
    if (cursor.length <= CURSOR_MAX)
      return decodePageToken(keyring.unseal(cursor, ownerOf(scope)).reveal(), {}, fields)
  } catch {
    // The reason would tell a forger which part was wrong.
  }
  throw fieldError(9000, 'params.cursor', 'the next_cursor of a page of the same list with the same filters')
}

function ownerOf(scope: CursorScope): string {
  return `cursor:${canonicalJson(scope)}`
}
