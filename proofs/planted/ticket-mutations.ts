import type { Mutation } from './mutation.ts'

/** Planted faults of tickets. */
export const TICKET_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a refused call frees the key of another one',
    file: 'lib/patterns/idempotency/idempotency.ts',
    search: "return executions.length === 0 ? 'delete' : { ...current, executions }",
    replace: "return executions.length < 99 ? 'delete' : { ...current, executions }",
  },
  {
    name: 'summaries of different ranges share a count',
    file: 'services/support/use-cases/summarize.ts',
    search: 'JSON.stringify([merchant, created_from, created_to])',
    replace: 'JSON.stringify([merchant, created_from !== created_to])',
  },
  {
    name: 'a summary joins a count that has begun',
    file: 'services/support/use-cases/summarize.ts',
    search: '      planned.delete(range)\n',
    replace: '',
  },
  {
    name: 'a comment gets another id at each execution',
    file: 'services/support/comments/use-cases/comments.ts',
    search: "comment_id: id('comment'), author: 'merchant'",
    replace: "comment_id: uuidv7(), author: 'merchant'",
  },
]
