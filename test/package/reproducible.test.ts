/** The release is reproducible: one commit gives one tarball, whoever packs it. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { pack, root, succeed, userEnvironment } from './packed.ts'

/** Clones what is committed into the folder, builds and packs it; gives the digest of the tarball. */
async function packClone(folder: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const clone = join(folder, 'clone')
  mkdirSync(folder)
  const env = { ...userEnvironment(folder), ...environment }
  await succeed('git', ['clone', '--quiet', '--no-hardlinks', root, clone], { cwd: folder, env })
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  await succeed(process.execPath, ['scripts/build.ts'], { cwd: clone, env })
  const tarball = await pack(clone, join(folder, 'packed'))
  return createHash('sha512').update(readFileSync(tarball)).digest('hex')
}

const isCheckout = existsSync(join(root, '.git'))
if (!isCheckout) process.stderr.write('NOT TESTED: two clones give one tarball; this is no clone\n')

test.skipIf(!isCheckout)(
  'two clones of a commit give the same bytes, in other folders, time zones and languages',
  async () => {
    const place = temporaryFolder('reproducible')
    const [first, second] = await Promise.all([
      packClone(join(place, 'a'), { TZ: 'Asia/Tokyo', LANG: 'C' }),
      packClone(join(place, 'a longer name'), { TZ: 'America/New_York', LANG: 'de_DE.UTF-8' }),
    ])
    expect(second).toBe(first)
  },
)
