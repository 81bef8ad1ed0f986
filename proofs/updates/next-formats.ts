import { BATCH_FORMATS } from '../../services/balances/domain/hash-chain.ts'

/** A format of the journal that neither this release nor an earlier one reads. */
const NEXT_FORMAT = BATCH_FORMATS.read_max + 1

/** Makes this process a process of a later release, which writes the next format of the journal (R9). */
Object.assign(BATCH_FORMATS, { written: NEXT_FORMAT, read_max: NEXT_FORMAT })
