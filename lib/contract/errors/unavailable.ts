/**
 * A dependency of this process (the store, the bus, another role) cannot be reached, is full, or did not respond in
 * time. The call changed nothing, unless the error is the store's `Ambiguous`, which extends this class. The caller may
 * try again with the same key; a public caller gets 2002 (E13).
 */
export class Unavailable extends Error {
  override readonly name: string = 'Unavailable'
}
