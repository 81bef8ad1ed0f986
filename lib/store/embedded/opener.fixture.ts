import { open } from 'lmdb'

/** Opens and closes an environment again and again, until the process is killed. The argument is the directory. */
for (;;) {
  const root = open({
    path: process.argv[2] ?? '',
    noSubdir: false,
    mapSize: 1024 ** 3,
    overlappingSync: false,
  })
  await root.close()
  process.send?.('opened')
}
