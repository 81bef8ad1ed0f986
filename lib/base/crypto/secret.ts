import { inspect } from 'node:util'
import { randomHex } from './random.ts'

/** A text that must not be shown. Printing, logging or serialising it gives `[secret]`. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The text itself. Use it only to compute with it, or in the one response that shows it to its owner. */
  reveal(): string {
    return this.#text
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

/** A new API or webhook secret: 256 random bits as 64 hexadecimal characters (A6). */
export function newSecret(): Secret {
  return new Secret(randomHex(32))
}
