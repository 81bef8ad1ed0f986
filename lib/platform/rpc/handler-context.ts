import type { DescMethodUnary } from '@bufbuild/protobuf'
import { type ContextValues, createContextValues, type HandlerContext } from '@connectrpc/connect'
import { clock } from '#lib/platform/time.ts'

/**
 * The context of one call. Connect's own makes two abort controllers and three sets of headers a call, which few
 * handlers look at; here each part is made when it is first asked for (a class, because an object literal with
 * getters costs more than all the rest). Unlike Connect's, the signal is not aborted when the call has been answered:
 * what a handler leaves running may go on.
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

  /** Tells the handler to give up: its caller has gone, or the deadline has passed. */
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

  /** Throws: what a handler put there would not travel on every way. */
  get responseHeader(): Headers {
    throw new Error('an answer carries its message only')
  }

  /** Throws, as `responseHeader` does. */
  get responseTrailer(): Headers {
    throw new Error('an answer carries its message only')
  }

  get values(): ContextValues {
    this.#values ??= createContextValues()
    return this.#values
  }
}
