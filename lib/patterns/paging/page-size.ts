import { fieldError } from '#lib/contract/errors/public-error.ts'

const PAGE_SIZE_DEFAULT = 25
const PAGE_SIZE_MAX = 100

/** The size of a page: 25 for 0, which means "not given". Throws 9000 for a size outside 1 to 100. */
export function checkPageSize(requested: number): number {
  if (requested === 0) return PAGE_SIZE_DEFAULT
  if (requested >= 1 && requested <= PAGE_SIZE_MAX) return requested
  throw fieldError(9000, 'page_size', `an integer from 1 to ${PAGE_SIZE_MAX}`)
}
