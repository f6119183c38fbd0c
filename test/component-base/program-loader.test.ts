/** Built programs keep their compiled code, and start without it when it cannot be kept. */
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ProgramLoader } from '../../components/component-base/program-loader.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const greeting = `
const { basename } = require('node:path')
const { name } = require('./name.cjs')
function greet() { return 'hello ' + name + ' of ' + basename(importMeta.filename) }
exports.greet = greet
exports.late = () => importScript('./name.cjs')
`

/** A build of two scripts, and a folder for their code. V8 remembers scripts of this process by their path: take another build for a second start. */
function built(): { main: string; cache: string } {
  const folder = temporaryFolder('program')
  writeFileSync(join(folder, 'name.cjs'), `exports.name = 'world'`)
  const main = join(folder, 'main.cjs')
  writeFileSync(main, greeting)
  return { main, cache: join(folder, 'cache') }
}

/** The files of a cache, with their sizes. */
function kept(cache: string): Record<string, number> {
  const [folder = ''] = readdirSync(cache)
  const names = readdirSync(join(cache, folder))
  return Object.fromEntries(names.map((name) => [name, statSync(join(cache, folder, name)).size]))
}

function greetingOf(exports: Record<string, unknown>): string {
  return (exports['greet'] as () => string)()
}

describe('a program loader', () => {
  it('runs scripts that require each other, once', async () => {
    const { main } = built()
    const loader = new ProgramLoader(undefined)
    const exports = loader.load(main)
    expect(greetingOf(exports)).toBe('hello world of main.cjs')
    expect(loader.load(main)).toBe(exports)
    const late = exports['late'] as () => Promise<unknown>
    expect(await late()).toEqual({ name: 'world' })
  })

  it('keeps the code of functions that were called', () => {
    const [idle, active] = [built(), built()]
    for (const { main, cache } of [idle, active]) {
      const loader = new ProgramLoader(cache)
      const exports = loader.load(main)
      if (main === active.main) greetingOf(exports)
      loader.save()
    }
    expect(Object.keys(kept(active.cache))).toEqual(['main.cjs', 'name.cjs'])
    expect(kept(active.cache)['main.cjs']).toBeGreaterThan(kept(idle.cache)['main.cjs'] ?? 0)
  })

  it('uses kept code, and keeps it as it is', () => {
    const { main, cache } = built()
    const first = new ProgramLoader(cache)
    greetingOf(first.load(main))
    first.save()
    const before = kept(cache)
    const second = new ProgramLoader(cache)
    expect(second.load(built().main)).toHaveProperty('greet')
    second.save()
    // Anew, it would lack the function, which was not called.
    expect(kept(cache)).toEqual(before)
  })

  it('compiles again when kept code is damaged, and replaces it', () => {
    const { main, cache } = built()
    const first = new ProgramLoader(cache)
    first.load(main)
    first.save()
    const [folder = ''] = readdirSync(cache)
    const file = join(cache, folder, 'main.cjs')
    const whole = readFileSync(file)
    const middle = whole.length >> 1
    const damages = [
      Buffer.from('damaged'),
      Buffer.alloc(0),
      whole.subarray(0, -8),
      Buffer.from(whole).fill(0, middle, middle + 40),
    ]
    for (const damaged of damages) {
      writeFileSync(file, damaged)
      const next = new ProgramLoader(cache)
      expect(greetingOf(next.load(built().main))).toBe('hello world of main.cjs')
      next.save()
      expect(readFileSync(file).equals(damaged)).toBe(false)
    }
  })

  it('runs where nothing can be kept, and leaves nothing', () => {
    const { main, cache } = built()
    writeFileSync(cache, 'a file in the place of the folder')
    const loader = new ProgramLoader(cache)
    expect(greetingOf(loader.load(main))).toBe('hello world of main.cjs')
    expect(() => loader.save()).not.toThrow()
    expect(readFileSync(cache, 'utf8')).toBe('a file in the place of the folder')
  })

  it('removes a file that it could not finish', () => {
    const { main, cache } = built()
    const first = new ProgramLoader(cache)
    first.load(main)
    first.save()
    const [folder = ''] = readdirSync(cache)
    const place = join(cache, folder)
    const loader = new ProgramLoader(cache)
    const other = join(main, '..', 'other.cjs')
    writeFileSync(other, 'exports.here = true')
    loader.load(other)
    // No file can take the place of a folder.
    mkdirSync(join(place, 'other.cjs'))
    loader.save()
    expect(readdirSync(place)).toEqual(['main.cjs', 'name.cjs', 'other.cjs'])
  })
})
