/**
 * Something this process depends on (the store, the bus, another role) cannot be reached, is full, or did not answer
 * in time. The call changed nothing, unless it is the store's `Ambiguous`, which is one of these. The caller may try
 * again under the same key; a public caller is told 2002 (E13).
 */
export class Unavailable extends Error {
  override readonly name: string = 'Unavailable'
}
