/** Golden transcripts: what happened, line by line, against test/transcripts/<name>.txt; UPDATE_CASES rewrites the files. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

const folder = join(import.meta.dirname, '../transcripts')

export function expectTranscript(name: string, lines: readonly string[]): void {
  const file = join(folder, `${name}.txt`)
  const text = `${lines.join('\n')}\n`
  if (process.env['UPDATE_CASES'] !== undefined) writeFileSync(file, text)
  expect(existsSync(file), `${file} is there; UPDATE_CASES=1 writes it`).toBe(true)
  expect(text).toBe(readFileSync(file, 'utf8'))
}
