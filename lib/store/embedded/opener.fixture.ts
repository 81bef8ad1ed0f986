import { open } from 'lmdb'

const [, , path = '', manner] = process.argv
const does_stay = manner !== undefined

/**
 * Opens and closes an environment again and again, until the process is killed. The first argument is the directory. With the
 * second one, `stays`, it opens the environment once, reads, and leaves it open; with `reads` it also does not end its reading.
 */
for (;;) {
  const root = open({
    path,
    noSubdir: false,
    mapSize: 1024 ** 3,
    overlappingSync: false,
  })
  if (does_stay) root.get('any')
  else await root.close()
  if (manner === 'reads') root.useReadTransaction()
  process.send?.('opened')
  if (does_stay) await new Promise((resolve) => process.once('disconnect', resolve))
}
