import { z } from 'zod'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { type AttachmentType, isAttachmentType } from '#lib/contract/attachments.ts'
import type { Environment } from '#lib/contract/environment.ts'

/** What a link permits: to send the bytes of an attachment, or to read them. */
export type LinkKind = 'upload' | 'download'

/** All that a link depends on. No part of it can be changed by the holder of the link. */
export interface AttachmentLink {
  readonly merchant_id: string
  readonly environment: Environment
  readonly attachment_id: string
  readonly mime_type: AttachmentType
  readonly size_bytes: number
  readonly expires_at: Date
}

/** The form of a sealed link in a path. */
export const SEALED_LINK = /^[A-Za-z0-9_-]{1,32}\.[A-Za-z0-9_-]{54,1024}$/

const CONTENT = z.strictObject({
  m: z.string(),
  e: z.enum(['test', 'production']),
  a: z.string(),
  t: z.string().refine(isAttachmentType),
  s: z.number(),
  x: z.number(),
})

/**
 * Makes the text that proves a link. It is encrypted and authenticated, so it cannot be altered or
 * made by others, shows nothing of what it contains, and a link of one kind is not one of the other.
 */
export function sealLink(keyring: Keyring, kind: LinkKind, link: AttachmentLink): string {
  const { merchant_id: m, environment: e, attachment_id: a, mime_type: t, size_bytes: s, expires_at } = link
  return keyring.seal(new Secret(JSON.stringify({ m, e, a, t, s, x: expires_at.getTime() })), ownerOf(kind))
}

/** Reads a link. `undefined` when the text was not made by `sealLink` for this kind. It may have expired. */
export function openLink(keyring: Keyring, kind: LinkKind, sealed: string): AttachmentLink | undefined {
  if (!SEALED_LINK.test(sealed)) return undefined
  let text: string
  try {
    text = keyring.unseal(sealed, ownerOf(kind)).reveal()
  } catch {
    return undefined
  }
  const { m, e, a, t, s, x } = CONTENT.parse(JSON.parse(text))
  return {
    merchant_id: m,
    environment: e,
    attachment_id: a,
    mime_type: t,
    size_bytes: s,
    expires_at: new Date(x),
  }
}

function ownerOf(kind: LinkKind): string {
  return `attachment-${kind}-link`
}
