import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { create, toBinary } from '@bufbuild/protobuf'
import { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type AttachmentLink, type LinkKind, openLink } from '#lib/patterns/attachment-link.ts'
import {
  encodeRefusal,
  INTERNAL_DOWNLOAD_PATH,
  INTERNAL_UPLOAD_PATH,
  REFUSAL_STATUS,
} from '#lib/patterns/attachment-transfer.ts'
import { createInternalServer, isPrematureClose } from '#lib/platform/http/internal-link.ts'
import { type Address, type Listening, listen } from '#lib/platform/process/listen.ts'
import type { Tls } from '#lib/platform/rpc/credentials/tls.ts'
import { toPublicError } from '#lib/platform/rpc/errors/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { now } from '#lib/platform/time.ts'
import { attachmentToProto } from '../domain/attachment-to-proto.ts'
import { contentDisposition } from '../domain/content-disposition.ts'
import type { AttachmentsDeps } from '../use-cases/deps.ts'
import { openDownload } from '../use-cases/open-download.ts'
import { receiveUpload } from '../use-cases/receive-upload.ts'

/**
 * Serves the bytes of attachments to gateways. The link in the path is the proof of each request, as on the public
 * interface: a caller that reaches this port has no rights that the holder of a link does not have.
 */
export function serveTransfers(
  deps: AttachmentsDeps,
  tls: Tls | undefined,
  address: Address,
): Promise<Listening> {
  const server = createInternalServer(tls, (request, response) => {
    transfer(deps, request, response).catch((error: unknown) => fail(request, response, error))
  })
  return listen(server, address)
}

async function transfer(
  deps: AttachmentsDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url = '' } = request
  if (method === 'PUT' && url.startsWith(INTERNAL_UPLOAD_PATH)) return upload(deps, request, response)
  if (method === 'GET' && url.startsWith(INTERNAL_DOWNLOAD_PATH)) return download(deps, url, response)
  throw new PublicError(1001)
}

async function upload(
  deps: AttachmentsDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const link = provenLink(deps, 'upload', request.url?.slice(INTERNAL_UPLOAD_PATH.length))
  const attachment = await receiveUpload(deps, link, request)
  const body = toBinary(AttachmentSchema, create(AttachmentSchema, attachmentToProto(attachment, now())))
  response.writeHead(200, { 'Content-Length': body.length }).end(body)
}

async function download(deps: AttachmentsDeps, url: string, response: ServerResponse): Promise<void> {
  const link = provenLink(deps, 'download', url.slice(INTERNAL_DOWNLOAD_PATH.length))
  const { attachment, bytes } = await openDownload(deps, link)
  response.writeHead(200, {
    'Content-Length': attachment.size_bytes,
    'Content-Disposition': contentDisposition(attachment.name, attachment.mime_type),
  })
  await pipeline(bytes, response)
}

/** The link in a path. An upload after its session is refused by the session itself, so that the code is its own. */
function provenLink({ keyring }: AttachmentsDeps, kind: LinkKind, sealed = ''): AttachmentLink {
  const link = openLink(keyring, kind, sealed)
  if (link === undefined || (kind === 'download' && link.expires_at <= now())) throw new PublicError(13001)
  return link
}

/** Answers with the refusal. A response that has begun is cut off, so that the other side cannot take it for complete. */
function fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The gateway has gone, mostly because its caller has.
  if ((request.destroyed && !request.complete) || isPrematureClose(error)) return
  const refusal = toPublicError(error)
  const { code, cause } = refusal
  if (code === 2001 || code === 2002)
    log.error({ error: cause ?? error, code }, 'a transfer of an attachment failed')
  if (response.headersSent) return void response.destroy()
  const body = encodeRefusal(refusal)
  response
    .writeHead(REFUSAL_STATUS, { 'Content-Length': Buffer.byteLength(body), Connection: 'close' })
    .end(body)
}
