import { createHash, randomUUID } from 'node:crypto'
import {
  type CreatedPaymentResult,
  type CreatePaymentOptions,
  createPaymentOnce,
  type WantedPayment,
} from './create-payment.ts'
import { MultihubError, TransportError } from './errors.ts'
import { type CallOptions, type ListItems, MethodCalls, type Methods } from './gen/methods.ts'
import { METHOD_KEYS } from './gen/tables.ts'
import type {
  AttachmentPrepareRequest,
  AttachmentStatusResult,
  PaymentInResult,
  PaymentStatusResult,
  WebhookResendResult,
} from './gen/types.ts'
import { writeJson } from './json.ts'
import { pause, type RetrySettings, repeatedly } from './retry.ts'
import { resendPath } from './signatures.ts'
import { exchange, GLOBAL_FETCH, sendSigned, type TransportSettings } from './transport.ts'

/** What a client needs to know: one credential and its version. All other settings have defaults. */
export type ClientSettings = Pick<TransportSettings, 'base_url' | 'application_id' | 'secret' | 'version'> &
  Partial<TransportSettings & RetrySettings>

/** A file to upload, without what the client works out. */
export type FileToUpload = Pick<AttachmentPrepareRequest['params'], 'purpose' | 'name' | 'mime_type'> & {
  bytes: Uint8Array
}

/** How a file is uploaded. */
export interface UploadOptions extends CallOptions {
  /** The idempotency key. With the same one and the same file, an interrupted upload goes on. */
  operation_id?: string
  /** How long to wait until the file is scanned. */
  scan_ms?: number
}

const DEFAULTS = { timeout_ms: 40_000, tries_max: 5, wait_ms: 250, wait_max_ms: 60_000, deadline_ms: 180_000 }
const FILE_MAX_BYTES = 10 * 1024 * 1024
const UPLOAD_ANSWER_MAX_BYTES = 64 * 1024
const SCAN_MS = 60_000
const SCAN_POLL_MAX_MS = 4_000

/**
 * A client of one credential. It signs requests, verifies the signature of each answer before it uses it, and repeats what is
 * harmless to repeat. Methods throw `RefusalError` for a signed refusal and `TransportError` without a signed answer.
 */
export class Client extends MethodCalls {
  readonly #settings: TransportSettings & RetrySettings

  constructor(settings: ClientSettings) {
    super()
    if (!/^[0-9a-f]{64}$/.test(settings.secret))
      throw new TypeError('the secret is not 64 lower-case hexadecimal characters')
    if (settings.version !== 'v1' && settings.version !== 'v2')
      throw new TypeError('the version is not v1 or v2')
    const base_url = settings.base_url.replace(/\/+$/, '')
    this.#settings = { fetch: GLOBAL_FETCH, ...DEFAULTS, ...settings, base_url }
  }

  async call<M extends keyof Methods>(
    method: M,
    request: Methods[M]['request'],
    { signal }: CallOptions = {},
  ): Promise<Methods[M]['result']> {
    const key = METHOD_KEYS[method]
    if (key === undefined) throw new TypeError(`there is no method ${method}`)
    if (method === 'refund.request') refuseUndefinedAmount(Object(request).params)
    const operation = key === 'operation_id' ? { operation_id: randomUUID() } : {}
    const fields = { method, params: {}, ...operation, ...definedOf(request) }
    const body = encode(fields)
    const options = { signal, is_withdrawal: method === 'payment.out' }
    const send = () => sendSigned(this.#settings, body, options) as Promise<Methods[M]['result']>
    return key === 'payment' ? send() : withOperation(fields, repeatedly(this.#settings, signal, send))
  }

  async *each<M extends keyof ListItems>(
    method: M,
    request: Methods[M]['request'],
    options?: CallOptions,
  ): AsyncGenerator<ListItems[M]> {
    let next: { cursor?: string } = {}
    while (true) {
      const params = { ...('params' in request ? request.params : {}), ...next }
      const page = await this.call(method, { ...request, params } as Methods[M]['request'], options)
      yield* page.items as ListItems[M][]
      if (page.next_cursor === null) return
      if (page.next_cursor === next.cursor) throw new MultihubError('the list repeats a page')
      next = { cursor: page.next_cursor }
    }
  }

  /**
   * Creates a deposit (`payment.in`) or a withdrawal (`payment.out`) at most once, also when answers are lost. Keep the request
   * until this returns or throws; after a crash or an `OutcomeUnknownError` call it again with `resume: true`.
   */
  createPayment<M extends 'payment.in' | 'payment.out'>(
    method: M,
    request: Methods[M]['request'],
    options: CreatePaymentOptions = {},
  ): Promise<CreatedPaymentResult> {
    const { signal } = options
    const { identifiers, amount } = request.params.payment
    const { c_id } = identifiers
    const is_withdrawal = method === 'payment.out'
    const wanted: WantedPayment = {
      c_id,
      destination: is_withdrawal ? 'out' : 'in',
      ...amount,
      service_id: request.service_id,
      account_id:
        'receiver' in request.params.payment ? request.params.payment.receiver.bank.account.id : undefined,
    }
    const body = encode({ method, ...definedOf(request) })
    const status = encode({ method: 'payment.status', params: { payment: { identifiers: { c_id } } } })
    const deps = {
      settings: this.#settings,
      send: () => sendSigned(this.#settings, body, { signal, is_withdrawal }) as Promise<PaymentInResult>,
      lookUp: (began_ms: number) =>
        repeatedly(
          this.#settings,
          signal,
          () => sendSigned(this.#settings, status, { signal }) as Promise<PaymentStatusResult>,
          began_ms,
        ),
    }
    return createPaymentOnce(deps, wanted, options)
  }

  /** Queues the callback of a payment with a final status again. */
  resendWebhook(
    payment_id: string,
    operation_id: string = randomUUID(),
    { signal }: CallOptions = {},
  ): Promise<WebhookResendResult> {
    const body = encode({ payment_id, operation_id })
    const resend_path = resendPath(payment_id)
    const send = () =>
      sendSigned(this.#settings, body, { resend_path, signal }) as Promise<WebhookResendResult>
    return withOperation({ operation_id }, repeatedly(this.#settings, signal, send))
  }

  /** Uploads a file and waits until it is scanned. Returns its status, which is `scanning` when the scan takes longer. */
  async uploadFile(file: FileToUpload, options: UploadOptions = {}): Promise<AttachmentStatusResult> {
    const { operation_id = randomUUID(), scan_ms = SCAN_MS, signal } = options
    const { bytes, ...named } = file
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const params = { ...named, size: bytes.length, sha256 }
    const { attachment, upload } = await this.attachmentPrepare({ operation_id, params }, options)
    const { h_id } = attachment.identifiers
    if (attachment.status === 'awaiting_upload' || attachment.status === 'uploaded') {
      const put = repeatedly(this.#settings, signal, () => this.#put(upload.url, file, signal))
      await withOperation({ operation_id }, put)
      await this.attachmentFinalize({ operation_id, params: { attachment: { h_id } } }, options)
    }
    const began_ms = Date.now()
    for (let poll_ms = 500; ; poll_ms = Math.min(poll_ms * 2, SCAN_POLL_MAX_MS)) {
      const status = await this.attachmentStatus({ params: { attachment: { h_id } } }, options)
      const is_scanned =
        status.status === 'ready' || status.status === 'rejected' || status.status === 'expired'
      if (is_scanned || Date.now() - began_ms > scan_ms) return status
      await pause(Math.min(poll_ms, scan_ms), signal)
    }
  }

  /** Sends the bytes. The answer is unsigned, so only the signed answer to the finalize says that they arrived. */
  async #put(
    url: string,
    { mime_type, bytes }: FileToUpload,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const request = { method: 'PUT', headers: { 'Content-Type': mime_type }, body: bytes }
    const limits = { signal, max_bytes: UPLOAD_ANSWER_MAX_BYTES }
    const { http_status, body } = await exchange(this.#settings, url, request as RequestInit, limits)
    if (http_status >= 200 && http_status < 300) return
    const text = new TextDecoder().decode(body)
    throw new TransportError('unsigned', `HTTP ${http_status}: ${text}`, { http_status, text })
  }

  /** Downloads a ready file. Its bytes have the SHA-256 that the signed answer names. */
  async downloadFile(h_id: string, options: CallOptions = {}): Promise<Uint8Array> {
    const { signal } = options
    const { attachment, download } = await this.attachmentGet({ params: { attachment: { h_id } } }, options)
    return repeatedly(this.#settings, signal, async () => {
      const limits = { signal, max_bytes: FILE_MAX_BYTES }
      const { body, http_status } = await exchange(this.#settings, download.url, {}, limits)
      if (createHash('sha256').update(body).digest('hex') === attachment.sha256) return body
      throw new TransportError('unsigned', `HTTP ${http_status}: other bytes than those of the file`, {
        http_status,
      })
    })
  }
}

function encode(request: object): Uint8Array {
  return new TextEncoder().encode(writeJson(request))
}

/** Without an amount a refund is one of all that remains, so an amount that a program lost must not look like that. */
function refuseUndefinedAmount(params: unknown): void {
  const given: Record<string, unknown> = Object(params)
  if ('amount' in given && given['amount'] === undefined)
    throw new TypeError('params.amount is undefined: leave it out to refund all that remains')
}

/** Notes the operation_id of a request on its error, because the client may have generated it. */
async function withOperation<T>(fields: { operation_id?: string }, result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof MultihubError && fields.operation_id !== undefined)
      error.operation_id = fields.operation_id
    throw error
  }
}

/** The fields that are set: an absent `params` must not replace the default. */
function definedOf(request: object): object {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
}
