/** The version of this package. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageFolder } from './plan/programs.ts'

export function ownVersion(): string {
  const manifest = join(dirname(packageFolder('dist')), 'package.json')
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
