import { createHash, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import type { Client } from '@connectrpc/connect'
import { AttachmentPurpose, AttachmentStatus } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { INTERNAL_UPLOAD_PATH } from '#lib/patterns/attachment-transfer.ts'
import type { Role } from '#lib/role/role.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startRoles, type TestRoles } from '../../test/support/roles.ts'
import { role } from './service.ts'

/** What a test announces of a file; everything else is a text that is valid. */
export interface FileOptions {
  readonly content?: Buffer
  readonly name?: string
  readonly mime_type?: string
  readonly sha256?: string
  readonly merchant_id?: string
  readonly purpose?: AttachmentPurpose
  readonly operation_id?: string
}

/** The status and the body of a transfer. */
export interface TransferResponse {
  readonly status: number
  readonly body: Buffer
}

/** The attachments service in the process of a test. */
export interface AttachmentsFixture extends AsyncDisposable {
  readonly roles: TestRoles
  readonly gateway: Client<typeof AttachmentService>
  readonly support: Client<typeof AttachmentService>
  readonly operator: Client<typeof AttachmentService>
  /** Opens a session and returns the id, the status and the public path of the upload. */
  prepare(options?: FileOptions): Promise<{ id: string; path: string; status: AttachmentStatus | undefined }>
  /** Sends the bytes to the port of the service. */
  put(public_path: string, content: Buffer): Promise<TransferResponse>
  finalize(id: string, options?: FileOptions): Promise<AttachmentStatus | undefined>
  /** A file that is ready. It needs `MULTIHUB_SCANNER=none`. */
  ready(options?: FileOptions): Promise<string>
  /** Waits until the attachment has a status. */
  untilStatus(id: string, status: AttachmentStatus, merchant_id?: string): Promise<void>
}

/** The content of a file without an own one. */
export const TEXT = Buffer.from('a receipt\n')
/** The merchant of files without an own one. */
export const MERCHANT = '7001'

/** The SHA-256 digest of bytes, as the contract writes it. */
export const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

/** Starts the service after `others` that it calls, on the server of `mongodb_uri` or, without one, on embedded files. */
export async function startAttachments(
  variables: Readonly<Record<string, string>> = { MULTIHUB_SCANNER: 'none' },
  { others = [], mongodb_uri }: { others?: readonly Role[]; mongodb_uri?: string | undefined } = {},
): Promise<AttachmentsFixture> {
  const all_variables = { MULTIHUB_ATTACHMENTS_PORT: '0', ...variables }
  const mongodb = mongodb_uri === undefined ? {} : { mongodb: { uri: mongodb_uri, roles: [role.name] } }
  const roles = await startRoles([...others, role], all_variables, mongodb)
  const gateway = roles.client(AttachmentService, 'gateway')
  const environment = Environment.TEST
  const prepare: AttachmentsFixture['prepare'] = async (options = {}) => {
    const { content = TEXT, name = 'receipt.txt', mime_type = 'text/plain' } = options
    const file = {
      name,
      mimeType: mime_type,
      sizeBytes: BigInt(content.length),
      sha256: options.sha256 ?? sha256Of(content),
    }
    const { attachment, upload } = await gateway.prepareAttachment({
      merchantId: options.merchant_id ?? MERCHANT,
      environment,
      purpose: options.purpose ?? AttachmentPurpose.TICKET,
      file,
      operationId: options.operation_id ?? randomUUID(),
      payloadHash: JSON.stringify(file, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    })
    return { id: attachment?.attachmentId ?? '', path: upload?.path ?? '', status: attachment?.status }
  }
  const put: AttachmentsFixture['put'] = (public_path, content) =>
    transfer(
      'PUT',
      roles.urls['attachments_url'] ?? '',
      INTERNAL_UPLOAD_PATH + public_path.slice(UPLOAD_PATH.length),
      content,
    )
  const finalize: AttachmentsFixture['finalize'] = async (id, options = {}) => {
    const { attachment } = await gateway.finalizeAttachment({
      merchantId: options.merchant_id ?? MERCHANT,
      environment,
      attachmentId: id,
      permittedPurposes: [AttachmentPurpose.TICKET, AttachmentPurpose.TICKET_COMMENT],
      operationId: options.operation_id ?? randomUUID(),
      payloadHash: id,
    })
    return attachment?.status
  }
  const untilStatus: AttachmentsFixture['untilStatus'] = async (id, status, merchant_id = MERCHANT) => {
    const read = async () => {
      const request = { merchantId: merchant_id, environment, attachmentId: id }
      // In a test that speeds time up, a call on a busy machine reaches its limit.
      const found = await gateway.getAttachment(request).catch(undefinedIfUnavailable)
      return found?.attachment?.status
    }
    await eventually(read, (seen) => seen === status)
  }
  return {
    roles,
    gateway,
    support: roles.client(AttachmentService, 'support'),
    operator: roles.client(AttachmentService, 'backoffice'),
    prepare,
    put,
    finalize,
    untilStatus,
    async ready(options = {}) {
      const { id, path } = await prepare(options)
      await put(path, options.content ?? TEXT)
      await finalize(id, options)
      await untilStatus(id, AttachmentStatus.READY, options.merchant_id)
      return id
    },
    [Symbol.asyncDispose]: () => roles[Symbol.asyncDispose](),
  }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof PublicError) || error.code !== 2002) throw error
}

/** Sends one request to the port for transfers. */
export function transfer(
  method: string,
  base_url: string,
  path: string,
  content: Buffer = Buffer.alloc(0),
): Promise<TransferResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(
      base_url + path,
      { method, headers: { 'content-length': content.length } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
      },
    )
    sent.on('error', reject)
    sent.end(content)
  })
}
