import type { Mutation } from './mutation.ts'

/** Planted faults of files. */
export const FILE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'any response but FOUND is clean',
    file: 'services/attachments/effects/scan-content.ts',
    search: "if (verdict === 'none')",
    replace: "if (verdict === 'none' && text === '')",
    needs: ['scanner responds badly'],
  },
  {
    name: 'a file is scanned without a place in the quota',
    file: 'services/attachments/use-cases/finalize-attachment.ts',
    search: '(await keepPlace(upload_quotas, found))',
    replace: 'true',
  },
  {
    name: 'a file that is ready keeps its place in the quota',
    file: 'services/attachments/domain/finalize.ts',
    search: 'releasePlaceEffect.newEffect(attachment, {}, { at }),\n    expireUnusedEffect',
    replace: 'expireUnusedEffect',
  },
  {
    name: 'a file that is rejected keeps its place in the quota',
    file: 'services/attachments/domain/attachment-effects.ts',
    search: "...(status === 'ready' ?",
    replace: "...(status === 'ready' || 'reason' in end ?",
  },
  {
    name: 'a file is given to a second owner',
    file: 'services/attachments/domain/claim.ts',
    search: 'return claim === undefined || claim.used_by === used_by\n',
    replace: "return claim === undefined || claim.used_by !== ''\n",
  },
  {
    name: 'bytes other than announced are accepted',
    file: 'services/attachments/domain/finalize.ts',
    search: 'if (upload.sha256 !== sha256)',
    replace: "if (upload.sha256 === '')",
    has_files: true,
  },
  {
    name: 'a verdict before the end of a file counts',
    file: 'services/attachments/effects/scan-content.ts',
    search: 'toScanVerdict(text, is_early)',
    replace: 'toScanVerdict(text, false)',
    needs: ['scanner responds badly'],
  },
  {
    name: 'a released place frees that of another file, too',
    file: 'services/attachments/domain/upload-quota.ts',
    search: 'places.filter((place) => !attachment_ids.includes(place.attachment_id))',
    replace: 'places.slice(2)',
    has_files: true,
  },
  {
    name: 'unfinished bytes have no limit',
    file: 'services/attachments/domain/upload-quota.ts',
    search: 'if (unfinished_bytes >',
    replace: 'if (-unfinished_bytes >',
    has_files: true,
  },
  {
    name: 'the bytes of a rejected file stay',
    file: 'services/attachments/domain/attachment-effects.ts',
    search: '...(upload === undefined ? [] : [deleteBytes(',
    replace: "...(upload === undefined || ('reason' in end && end.reason === 'malware') ? [] : [deleteBytes(",
    has_files: true,
  },
  {
    name: 'a file expires while it is used',
    file: 'services/attachments/domain/attachment.ts',
    search: 'const is_unused = claim === undefined && unused_until',
    replace: "const is_unused = claim?.used_by !== '' && unused_until",
    has_files: true,
  },
  {
    name: 'the bytes of an upload that was killed stay',
    file: 'services/attachments/domain/session.ts',
    search:
      'return { ...attachment, writer, effects: [...attachment.effects, deleteLateBytes(attachment, other, at)] }',
    replace: 'return { ...attachment, writer }',
    needs: ['process is killed'],
    has_files: true,
  },
]
