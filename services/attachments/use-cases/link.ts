import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { AttachmentLinkSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachment-paths.ts'
import { type LinkKind, sealLink } from '#lib/patterns/attachment-link.ts'
import type { Attachment } from '../domain/attachment.ts'

/** How long a download link works (F6). */
export const DOWNLOAD_LINK_MS = 5 * 60 * 1_000

const PATHS: Readonly<Record<LinkKind, string>> = { upload: UPLOAD_PATH, download: DOWNLOAD_PATH }

/** Makes a link to the bytes of an attachment. It works for every holder until a time. */
export function linkTo(
  keyring: Keyring,
  kind: LinkKind,
  { merchant_id, environment, attachment_id, mime_type, size_bytes }: Attachment,
  expires_at: Date,
): MessageInitShape<typeof AttachmentLinkSchema> {
  const link = { merchant_id, environment, attachment_id, mime_type, size_bytes, expires_at }
  return { path: PATHS[kind] + sealLink(keyring, kind, link), expireTime: timestampFromDate(expires_at) }
}
