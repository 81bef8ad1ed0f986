import type { Message } from '@bufbuild/protobuf'
import { keyOf } from '../call/use-rpc.ts'
import type { ListSpec } from './list-spec.ts'

/** How many rows a list reads at a time. */
export const PAGE_SIZE = 50

/** The request for the first page of a list. */
export function firstPageOf<T extends Message>(
  spec: ListSpec<T>,
  request: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const has_pages = spec.list.input.fields.some(({ name }) => name === 'page_size')
  return { ...spec.fixed, ...request, ...(has_pages && { pageSize: PAGE_SIZE }) }
}

/** What identifies the pages of a list that were read. */
export function listKeyOf<T extends Message>(
  spec: ListSpec<T>,
  request: Readonly<Record<string, unknown>>,
): readonly string[] {
  return ['list', ...keyOf(spec.list, firstPageOf(spec, request))]
}
