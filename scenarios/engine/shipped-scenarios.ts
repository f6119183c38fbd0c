/** The scenario files that ship with skiff. */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageFolder } from '../../cluster/plan/programs.ts'

/** Paths, in the order of names. */
export function shippedFiles(): string[] {
  const folder = packageFolder('scenarios')
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => join(folder, file))
}

/** `node-loss`: a file's name without its ending. */
export function scenarioNameOf(file: string): string {
  return basename(file).replace(/\.ya?ml$/, '')
}
