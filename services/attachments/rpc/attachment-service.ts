import {
  AttachmentService,
  type NewFile as NewFileProto,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { ATTACHMENT_PURPOSES } from '#lib/contract/attachments.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { type ScopeFields, scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { payloadHash } from '#lib/patterns/idempotency/idempotency.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { attachmentToProto } from '../domain/attachment.ts'
import { checkNewFile, type NewFile } from '../domain/session.ts'
import { CLAIM_MAX, claimAttachments, releaseAttachments } from '../use-cases/claim-attachments.ts'
import type { AttachmentsDeps } from '../use-cases/deps.ts'
import { eraseAttachments } from '../use-cases/erase-attachments.ts'
import { finalizeAttachment } from '../use-cases/finalize-attachment.ts'
import { prepareAttachment } from '../use-cases/prepare-attachment.ts'
import { DOWNLOAD_LINK_MS, getAttachment, getAttachments, linkTo } from '../use-cases/read-attachment.ts'

/** The most attachments that one call reads. */
const READ_MAX = 1_000

/** Serves the RPCs of attachments. The bytes travel over the port for transfers. */
export function createAttachmentRpc(deps: AttachmentsDeps): RpcService {
  return rpcService(AttachmentService, {
    prepareAttachment: by(['gateway'], async (request) =>
      prepareAttachment(deps, {
        ...scopeFromProto(request),
        ...fileOf(request.file),
        purpose: ATTACHMENT_PURPOSES.required(request.purpose, 'purpose'),
        method: 'attachment.prepare',
        ...operationOf(request),
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      }),
    ),
    finalizeAttachment: by(['gateway'], async (request) => {
      const attachment = await finalizeAttachment(deps, {
        ...identityOf(request),
        permitted_purposes: ATTACHMENT_PURPOSES.requiredEach(request.permittedPurposes, 'permitted_purposes'),
        method: 'attachment.finalize',
        ...operationOf(request),
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      })
      return { attachment: attachmentToProto(attachment, now()) }
    }),
    prepareEvidence: by(['backoffice'], async (request) => {
      const file = fileOf(request.file)
      return prepareAttachment(deps, {
        ...scopeFromProto(request),
        ...file,
        purpose: 'chargeback_evidence',
        method: 'evidence.prepare',
        operation_id: requiredId(request.operationId, 'operation_id'),
        payload_hash: payloadHash({ ...file }),
      })
    }),
    openEvidenceUpload: by(['backoffice'], async (request) => {
      const attachment = await getAttachment(deps, identityOf(request))
      if (attachment.purpose !== 'chargeback_evidence') throw new PublicError(13001)
      const upload = linkTo(deps.keyring, 'upload', attachment, attachment.session_expires_at)
      return { attachment: attachmentToProto(attachment, now()), upload }
    }),
    finalizeEvidence: by(['backoffice'], async (request) => {
      const identity = identityOf(request)
      const attachment = await finalizeAttachment(deps, {
        ...identity,
        permitted_purposes: ['chargeback_evidence'],
        method: 'evidence.finalize',
        operation_id: requiredId(request.operationId, 'operation_id'),
        payload_hash: payloadHash(identity.attachment_id),
      })
      return { attachment: attachmentToProto(attachment, now()) }
    }),
    getAttachment: by(['gateway', 'backoffice'], async (request) => {
      const attachment = await getAttachment(deps, identityOf(request))
      const at = now()
      const expires_at = new Date(at.getTime() + DOWNLOAD_LINK_MS)
      return {
        attachment: attachmentToProto(attachment, at),
        download:
          attachment.status === 'ready'
            ? linkTo(deps.keyring, 'download', attachment, expires_at)
            : undefined,
      }
    }),
    getAttachments: by(['backoffice', 'internal'], async (request) => {
      const ids = checkedIds(request.attachmentIds, READ_MAX)
      const attachments = await getAttachments(deps, scopeFromProto(request), ids)
      return { attachments: attachments.map((attachment) => attachmentToProto(attachment, now())) }
    }),
    claimAttachments: by(['support'], async (request) => {
      const attachments = await claimAttachments(deps, claimedOf(request), {
        ...executionOf(request),
        purpose: ATTACHMENT_PURPOSES.required(request.purpose, 'purpose'),
        ticket_id: request.ticketId,
      })
      return { attachments: attachments.map((attachment) => attachmentToProto(attachment, now())) }
    }),
    eraseAttachments: by(['support'], async (request) => {
      await eraseAttachments(deps, {
        ...scopeFromProto(request),
        attachment_ids: checkedIds(request.attachmentIds, READ_MAX),
      })
      return {}
    }),
    releaseAttachments: by(['support'], async (request) => {
      await releaseAttachments(deps, claimedOf(request), executionOf(request))
      return {}
    }),
  })
}

function identityOf(request: ScopeFields & { readonly attachmentId: string }) {
  return { ...scopeFromProto(request), attachment_id: requiredId(request.attachmentId, 'attachment_id') }
}

function operationOf(request: { readonly operationId: string }) {
  return { operation_id: requiredId(request.operationId, 'operation_id') }
}

function claimedOf(request: ScopeFields & { readonly attachmentIds: string[] }) {
  return { ...scopeFromProto(request), attachment_ids: checkedIds(request.attachmentIds, CLAIM_MAX) }
}

function executionOf({ usedBy, callId }: { readonly usedBy: string; readonly callId: string }) {
  return { used_by: requiredText(usedBy, 'used_by'), execution: requiredText(callId, 'call_id') }
}

function fileOf(given: NewFileProto | undefined): NewFile {
  return checkNewFile(requiredMessage(given, 'file'))
}

function checkedIds(attachment_ids: readonly string[], max: number): readonly string[] {
  if (attachment_ids.length > max) throw fieldError(9000, 'attachment_ids', `at most ${max} entries`)
  return attachment_ids.map((id, place) => checkLine(id, `attachment_ids.${place}`))
}
