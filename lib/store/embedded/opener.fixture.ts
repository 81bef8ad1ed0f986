import { open } from 'lmdb'

const does_stay = process.argv[3] === 'stays'

/**
 * Opens and closes an environment again and again, until the process is killed. The first argument is the directory. With the
 * second one, `stays`, it opens the environment once, reads, and leaves it open.
 */
for (;;) {
  const root = open({
    path: process.argv[2] ?? '',
    noSubdir: false,
    mapSize: 1024 ** 3,
    overlappingSync: false,
  })
  if (does_stay) root.get('any')
  else await root.close()
  process.send?.('opened')
  if (does_stay) await new Promise((resolve) => process.once('disconnect', resolve))
}
