/** Backup files: what is written is read back, and whatever is not whole is refused with the part that is damaged. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Member } from '../../../cluster/backup/archive.ts'
import { memberBytes } from '../../../cluster/backup/archive.ts'
import { backupLines, checkBackup } from '../../../cluster/backup/open-backup.ts'
import { manifestPart, summaryPart } from '../../../cluster/backup/manifest.ts'
import { numbersAfter } from '../../../cluster/backup/new-numbers.ts'
import { backupBytes, lineParts, type NamedLine } from '../../../cluster/backup/parts.ts'
import { sealed, unsealed } from '../../../cluster/backup/seal.ts'
import { stateFileOf } from '../../../cluster/backup/state-files.ts'
import { nextTurn } from '../../../components/component-base/next-turn.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('backup')
const path = join(folder, 'file.backup')

const manifest = {
  cluster: 'shop',
  caHash: 'sha256:00',
  stateDir: '/home/me/shop',
  dialect: 'kubernetes',
  revision: 9,
  takenAt: '2026-01-01T00:00:00Z',
} as const

const names = ['objects/core.secrets', 'objects/apps.deployments', 'files']
const lines: readonly NamedLine[] = names.flatMap((part) =>
  Array.from({ length: 3 }, (_, at) => ({
    part,
    line: { at, text: `${part} \u{1F600}`.repeat(9) },
  })),
)

async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

async function* parts(of: readonly NamedLine[]): AsyncGenerator<Member> {
  yield manifestPart(manifest)
  yield* lineParts(each(of))
  yield summaryPart({ resources: { 'core/secrets': 3 }, objects: 6, files: 3 })
}

async function bytesOf(of: readonly NamedLine[] = lines): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(backupBytes(parts(of))))
}

async function refusal(bytes: Buffer, keys = {}): Promise<string> {
  writeFileSync(path, bytes)
  return await checkBackup({ path, keys }).then(
    () => 'whole',
    (error: Error) => error.message,
  )
}

/** The parts by the place where they begin, their headers included. */
function layoutOf(bytes: Buffer): { name: string; from: number; to: number }[] {
  const found = []
  for (let at = 0; bytes[at] !== 0;) {
    const name = bytes.toString('utf8', at, bytes.indexOf(0, at))
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8)
    const to = at + 512 + Math.ceil(size / 512) * 512
    found.push({ name, from: at, to })
    at = to
  }
  return found
}

describe('a backup file', () => {
  it('is read as it was written, whatever the lines are, in parts of bounded size', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 400 }).filter((one) => one.isWellFormed())
    const line = fc.record({ part: fc.constantFrom(...names), line: fc.record({ text }) })
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (any) => {
        writeFileSync(path, await bytesOf(any))
        const { manifest: found } = await checkBackup({ path, keys: {} })
        expect(found).toMatchObject(manifest)
        const read = await Array.fromAsync(backupLines({ path, keys: {} }))
        const inParts = read.map(({ part, line: one }) => ({
          part: part.replace(/-\d+\.ndjson\.gz$/, ''),
          line: one,
        }))
        expect(inParts).toEqual(any)
      }),
      { numRuns: 30 },
    )
    const long = { part: 'objects/a.b', line: { text: 'x'.repeat(900_000) } }
    const three = await Array.fromAsync(lineParts(each([long, long, long])))
    expect(three.map(({ name }) => name)).toEqual([
      'objects/a.b-1.ndjson.gz',
      'objects/a.b-2.ndjson.gz',
    ])
  })

  it('is a tar whose parts sha256sum finds whole', async () => {
    const place = join(folder, 'tar')
    mkdirSync(place)
    writeFileSync(path, await bytesOf())
    execFileSync('tar', ['xf', path, '-C', place])
    for (const file of ['SHA256SUMS', 'SHA256SUMS.sha256']) {
      for (const line of readFileSync(join(place, file), 'utf8').trimEnd().split('\n')) {
        const [sum = '', name = ''] = line.split('  ')
        const content = readFileSync(join(place, name))
        expect(createHash('sha256').update(content).digest('hex')).toBe(sum)
      }
    }
    expect(JSON.parse(readFileSync(join(place, 'manifest.json'), 'utf8'))).toMatchObject(manifest)
  })

  it('is refused with the part named when any byte of it is another one', async () => {
    const whole = await bytesOf()
    const layout = layoutOf(whole)
    expect(await refusal(whole)).toBe('whole')
    for (let at = 0; at < whole.length; at += at < 1024 ? 7 : 61) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      const said = await refusal(bytes)
      const index = layout.findIndex(({ from, to }) => at >= from && at < to)
      // A header that is damaged has no name; the part before it is named then.
      const near = [layout[index]?.name, layout.at(index < 0 ? -1 : index - 1)?.name, 'SHA256SUMS']
      const isNamed = near.some((name) => name !== undefined && said.includes(name))
      const isAtBeginning = index === 0 && said.includes('at its beginning')
      expect([at, said, isNamed || isAtBeginning]).toEqual([at, said, true])
    }
  })

  it('is refused when it is cut short, anywhere, or goes on', async () => {
    const whole = await bytesOf()
    for (let length = 0; length < whole.length; length += 97)
      expect([length, await refusal(whole.subarray(0, length))]).toEqual([
        length,
        expect.stringMatching(/is cut short|is damaged|not a backup/),
      ])
    expect(await refusal(Buffer.concat([whole, Buffer.from('x')]))).toMatch(/is damaged after/)
  })

  it('is refused when parts are left out, swapped or added', async () => {
    const whole = await bytesOf()
    const layout = layoutOf(whole)
    const piece = (at: number): Buffer => whole.subarray(layout[at]?.from, layout[at]?.to)
    const rest = whole.subarray(layout.at(-1)?.to)
    const some = (order: readonly number[]): Buffer => Buffer.concat([...order.map(piece), rest])
    const order = [...layout.keys()]
    expect(await refusal(some(order))).toBe('whole')
    expect(await refusal(some(order.filter((at) => at !== 2)))).toMatch(/is damaged in \S+/)
    expect(await refusal(some(order.toSpliced(1, 2, 2, 1)))).toMatch(/is damaged in \S+/)
    expect(await refusal(some(order.slice(0, -1)))).toMatch(/has no checksums/)
    const more = memberBytes({ name: 'files-9.ndjson.gz', content: Buffer.from('x') })
    expect(await refusal(Buffer.concat([more, whole]))).toMatch(/is damaged in files-9/)
  })

  it('of another release or program is refused with the reason', async () => {
    const part = manifestPart(manifest)
    const newer = part.content.toString().replace('"version": 1', '"version": 7')
    const members = [
      { ...part, content: Buffer.from(newer) },
      summaryPart({ resources: {}, objects: 0, files: 0 }),
    ]
    const bytes = Buffer.concat(await Array.fromAsync(backupBytes(each(members))))
    expect(await refusal(bytes)).toMatch(
      /was written by a newer release \(skiff \S+\): its format is 7, this release knows 1$/,
    )
    for (const text of ['', 'hello', 'x'.repeat(10_000)])
      expect(await refusal(Buffer.from(text))).toMatch(/is not a backup of skiff/)
  })

  it('names no file outside of a state directory', () => {
    for (const bad of [
      '../x',
      '/etc/passwd',
      'pki/../../x',
      'nodes/a/../../../pki/x',
      'state.db',
      '',
    ])
      expect(() => stateFileOf({ path: bad, text: '' })).toThrow(/names a file that no cluster has/)
    for (const good of ['cluster.json', 'pki/ca.key', 'nodes/a/pki/x.pem', 'nodes/a/kubeconfig'])
      expect(stateFileOf({ path: good, text: 'x' })).toEqual({ path: good, text: 'x' })
  })
})

describe('an encrypted backup', () => {
  it('opens with its passphrase alone, and is refused when it is damaged or cut', async () => {
    const plain = await bytesOf()
    const chunks = sealed(each([plain]), { passphrase: 'correct horse' })
    const whole = Buffer.concat(await Array.fromAsync(chunks))
    expect(whole.includes(manifest.cluster)).toBe(false)
    const keys = { passphrase: 'correct horse' }
    expect(await refusal(whole, keys)).toBe('whole')
    expect(await refusal(whole, { passphrase: 'battery' })).toMatch(/the key is wrong/)
    expect(await refusal(whole)).toMatch(/is encrypted: pass --passphrase-file/)
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 1
    expect(await refusal(flipped, keys)).toMatch(/is damaged or cut short/)
    expect(await refusal(whole.subarray(0, -100), keys)).toMatch(/is damaged or cut short/)
  }, 60_000)

  it('opens with the key of its recipient alone; damage in a later chunk names the part before', async () => {
    const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
    const [identity, other] = [await generateX25519Identity(), await generateX25519Identity()]
    const recipient = await identityToRecipient(identity)
    const random = Array.from({ length: 4 }, (_, at) => ({
      part: `objects/core.r${at}`,
      line: {
        text: createHash('sha512').update(String(at)).digest('hex').repeat(1),
        more: noise(at),
      },
    }))
    const plain = await bytesOf(random)
    const chunks = sealed(each([plain]), { recipients: [recipient] })
    const whole = Buffer.concat(await Array.fromAsync(chunks))
    expect(await refusal(whole, { identities: [identity] })).toBe('whole')
    expect(await refusal(whole, { identities: [other] })).toMatch(/the key is wrong/)
    for (let at = 300; at < whole.length; at += 9973) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ 0x10
      expect([at, await refusal(bytes, { identities: [identity] })]).toEqual([
        at,
        expect.stringMatching(/is damaged or cut short after (its beginning|\S+\.(gz|json))$/),
      ])
    }
  })
})

it('damage ends the reading of a sealed file alone, in chunks of whatever size it comes', async () => {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption')
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  const sealing = sealed(each([randomBytes(300_000)]), { recipients: [recipient] })
  const whole = Buffer.concat(await Array.fromAsync(sealing))
  const uncaught: unknown[] = []
  const note = (error: unknown): void => void uncaught.push(error)
  process.on('uncaughtException', note)
  onTestFinished(() => void process.off('uncaughtException', note))
  for (const size of [700, 65_536, whole.length]) {
    for (let at = 400; at < whole.length; at += 19_973) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ 0x10
      const count = Math.ceil(bytes.length / size)
      const chunks = Array.from({ length: count }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      const opened = Array.fromAsync(unsealed(each(chunks), { identities: [identity] }))
      await expect(opened).rejects.toThrow('is damaged or cut short')
      await nextTurn()
    }
  }
  expect(uncaught).toEqual([])
})

/** Text that does not compress. */
function noise(seed: number): string {
  const rows = Array.from({ length: 1500 }, (_, at) =>
    createHash('sha256').update(`${seed} ${at}`).digest('base64'),
  )
  return rows.join('')
}

describe('the numbers of a restored store', () => {
  it('come after all that any store of the cluster can have handed out, in any order of backups', () => {
    const hour = 3_600_000
    const begin = Date.UTC(2026, 0, 1)
    const step = fc.record({
      waitMs: fc.integer({ min: 1000, max: 100 * hour }),
      perSecond: fc.nat({ max: 50_000 }),
      act: fc.constantFrom('backup', 'restore'),
      which: fc.nat(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let nowMs = begin
        let revision = 1
        let highest = 1
        const backups = [{ revision: 1 }]
        for (const { waitMs, perSecond, act, which } of steps) {
          nowMs += waitMs
          revision += Math.floor((waitMs / 1000) * perSecond)
          highest = Math.max(highest, revision)
          if (act === 'backup') {
            backups.push({ revision })
            continue
          }
          const from = backups[which % backups.length] ?? { revision: 1 }
          revision = numbersAfter({ revision: from.revision, nowMs })
          expect(revision).toBeGreaterThanOrEqual(highest)
          highest = revision
        }
        expect(Number.isSafeInteger(highest)).toBe(true)
      }),
    )
  })

  it('come after the backup when the clock was set back', () => {
    const nowMs = Date.UTC(2019, 0, 1)
    expect(numbersAfter({ revision: 500, nowMs })).toBeGreaterThan(500 + 999_999_999)
  })
})
