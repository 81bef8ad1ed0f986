import { statSync } from 'node:fs'

const IN_CLONE = './multihub'

/** How a person calls this program, for sentences that name a command to run: in the folder of a clone by its path. */
export const OWN_NAME = statSync(IN_CLONE, { throwIfNoEntry: false })?.isFile() ? IN_CLONE : 'multihub'
