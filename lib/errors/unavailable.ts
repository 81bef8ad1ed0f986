/**
 * Something this process depends on (the store, the bus, another role) cannot be reached, is full, or did not answer
 * in time, and the call changed nothing. The caller may try again; a public caller is told 2002 (E13).
 */
export class Unavailable extends Error {
  override readonly name: string = 'Unavailable'
}
