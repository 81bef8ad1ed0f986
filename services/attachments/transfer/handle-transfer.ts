import { create, toBinary } from '@bufbuild/protobuf'
import { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { now } from '#lib/base/time.ts'
import { ATTACHMENT_TYPES, type AttachmentType } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { StreamHandler, StreamRequest, StreamResponse } from '#lib/http/internal-link.ts'
import { type AttachmentLink, type LinkKind, openLink } from '#lib/patterns/attachment-link.ts'
import {
  encodeRefusal,
  INTERNAL_DOWNLOAD_PATH,
  INTERNAL_UPLOAD_PATH,
  REFUSAL_STATUS,
} from '#lib/patterns/attachment-transfer.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import { attachmentToProto } from '../domain/attachment.ts'
import type { AttachmentsDeps } from '../use-cases/deps.ts'
import { openDownload } from '../use-cases/read-attachment.ts'
import { BrokenUpload, receiveUpload } from '../use-cases/receive-upload.ts'

/**
 * Makes the function that takes and gives the bytes of attachments, for gateways in this process and in others. The link in
 * the path is the proof of each request, as on the public interface: a caller that reaches it has no rights that the
 * holder of a link does not have.
 */
export function createTransferHandler(deps: AttachmentsDeps): StreamHandler {
  return async (request) => {
    try {
      const { method, path } = request
      if (method === 'PUT' && path.startsWith(INTERNAL_UPLOAD_PATH)) return await upload(deps, request)
      if (method === 'GET' && path.startsWith(INTERNAL_DOWNLOAD_PATH)) return await download(deps, request)
      throw new PublicError(1001)
    } catch (error) {
      return refuse(error)
    }
  }
}

async function upload(
  deps: AttachmentsDeps,
  { path, body = NOTHING }: StreamRequest,
): Promise<StreamResponse> {
  const link = provenLink(deps, 'upload', path.slice(INTERNAL_UPLOAD_PATH.length))
  const attachment = await receiveUpload(deps, link, body)
  return respond(
    200,
    toBinary(AttachmentSchema, create(AttachmentSchema, attachmentToProto(attachment, now()))),
  )
}

async function download(deps: AttachmentsDeps, { path }: StreamRequest): Promise<StreamResponse> {
  const link = provenLink(deps, 'download', path.slice(INTERNAL_DOWNLOAD_PATH.length))
  const { attachment, bytes: body } = await openDownload(deps, link)
  const headers = {
    'content-length': String(attachment.size_bytes),
    'content-disposition': contentDisposition(attachment.name, attachment.mime_type),
  }
  return { status: 200, headers, body }
}

/** The link in a path. An upload after its session is refused by the session itself, so that the code is its own. */
function provenLink({ keyring }: AttachmentsDeps, kind: LinkKind, sealed: string): AttachmentLink {
  const link = openLink(keyring, kind, sealed)
  if (link === undefined || (kind === 'download' && link.expires_at <= now())) throw new PublicError(13001)
  return link
}

function refuse(error: unknown): StreamResponse {
  const refusal = toPublicError(error)
  const { code, cause } = refusal
  // An upload that breaks off is not a fault, and its sender is not there any more.
  if ((code === 2001 || code === 2002) && !(error instanceof BrokenUpload))
    log.error({ error: cause ?? error, code }, 'a transfer of an attachment failed')
  return respond(REFUSAL_STATUS, Buffer.from(encodeRefusal(refusal)))
}

function respond(status: number, content: Uint8Array): StreamResponse {
  return { status, headers: { 'content-length': String(content.length) }, body: only(content) }
}

async function* only(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}

const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} }

/** Characters that every client reads in the quoted `filename`. */
const NOT_QUOTABLE = /[^ !#-[\]-~]|%/g

/**
 * The header `Content-Disposition` of a download (F6, RFC 6266): it is saved and never shown, under the name that its
 * sender gave it. A name without an ending of its type gets one, so that no system runs or renders the saved file as
 * something else.
 */
export function contentDisposition(given_name: string, type: AttachmentType): string {
  const endings: readonly string[] = ATTACHMENT_TYPES[type]
  const has_ending = endings.some((ending) => given_name.toLowerCase().endsWith(ending))
  const name = has_ending ? given_name : given_name + (endings[0] ?? '')
  return `attachment; filename="${name.replaceAll(NOT_QUOTABLE, '_')}"; filename*=UTF-8''${percentEncoded(name)}`
}

/** A name for `filename*`, which needs four characters encoded that `encodeURIComponent` leaves (RFC 8187). */
function percentEncoded(name: string): string {
  const encode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, encode)
}
