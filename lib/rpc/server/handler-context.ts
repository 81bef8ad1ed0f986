import type { DescMethodUnary } from '@bufbuild/protobuf'
import { type ContextValues, createContextValues, type HandlerContext } from '@connectrpc/connect'
import { clock } from '#lib/base/time.ts'

/**
 * The context of one call. Connect's own creates two abort controllers and three header sets per call, which few handlers
 * use; this one creates each part at its first use. It is a class because an object literal with getters costs more than
 * all the rest. Unlike Connect's, its signal does not abort after the response, so background work may continue.
 */
export class CallContext implements HandlerContext {
  readonly method: DescMethodUnary
  readonly protocolName: string
  readonly requestMethod = 'POST'
  readonly #deadline_ms: number
  readonly #headers: () => Headers
  #controller: AbortController | undefined
  #aborted: Error | undefined
  #requestHeader: Headers | undefined
  #values: ContextValues | undefined

  constructor(method: DescMethodUnary, protocol: string, deadline_ms: number, headers: () => Headers) {
    this.method = method
    this.protocolName = protocol
    this.#deadline_ms = deadline_ms
    this.#headers = headers
  }

  /** Aborts the handler's signal: its caller has gone, or the deadline has passed. */
  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#controller?.abort(reason)
  }

  timeoutMs = (): number => Math.max(0, this.#deadline_ms - clock.monotonic_ms())

  get service(): DescMethodUnary['parent'] {
    return this.method.parent
  }

  get url(): string {
    return `/${this.method.parent.typeName}/${this.method.name}`
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.#headers()
    return this.#requestHeader
  }

  /** Throws, because not every transport carries response headers. */
  get responseHeader(): Headers {
    throw new Error('a response carries its message only')
  }

  /** Throws, as `responseHeader` does. */
  get responseTrailer(): Headers {
    throw new Error('a response carries its message only')
  }

  get values(): ContextValues {
    this.#values ??= createContextValues()
    return this.#values
  }
}
