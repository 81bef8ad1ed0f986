import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A refusal that the system has given. */
export interface RecordedError {
  /** The method that was refused; absent when every method can be refused like this. */
  readonly method?: string
  readonly http_status: number
  readonly body: { readonly error: { readonly code: number } }
}

/** A request of a method, and its answer. */
export interface RecordedExchange {
  readonly request: Readonly<Record<string, unknown>>
  readonly response: object
}

/** Exchanges and callbacks of a running system: the examples of the API reference. */
export interface RecordedExamples {
  /** By method. The answers belong to the requests. */
  readonly exchanges: Readonly<Record<string, RecordedExchange>>
  readonly errors: readonly RecordedError[]
  /** The payments of new deposits by method of payment. */
  readonly deposits: Readonly<Record<string, object>>
  /** The bodies of callbacks by event. */
  readonly callbacks: Readonly<Record<string, object>>
}

/** Where the examples are. test/e2e/recorded-examples.test.ts checks them, and records them with `MULTIHUB_RECORD=1`. */
export const RECORDED_PATH = join(import.meta.dirname, 'recorded.json')

/** The recorded examples. */
export const RECORDED: RecordedExamples = JSON.parse(readFileSync(RECORDED_PATH, 'utf8'))
