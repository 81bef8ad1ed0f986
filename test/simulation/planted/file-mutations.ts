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
    name: 'a file is given to a second owner',
    file: 'services/attachments/domain/claim.ts',
    search: 'return claim === undefined || claim.owner === owner\n',
    replace: "return claim === undefined || claim.owner !== ''\n",
  },
]
