/** Shipped lessons: the files of `console/lessons`, in the order in which to take them. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from '../../cluster/plan/programs.ts'

/** The first ones build on each other; the others follow by name. */
const order = [
  'first-cluster',
  'join',
  'access',
  'rolling-update',
  'node-loss',
  'finalizers',
  'leader-election',
  'watches',
]

const nameOf = (file: string): string => file.replace(/\.yaml$/, '')

function placeOf(file: string): number {
  const index = order.indexOf(nameOf(file))
  return index === -1 ? order.length : index
}

/** Absolute paths. */
export function shippedLessons(): string[] {
  const folder = packageFolder('console/lessons')
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted((a, b) => placeOf(a) - placeOf(b) || a.localeCompare(b))
    .map((file) => join(folder, file))
}

export const lessonName = (file: string): string => nameOf(file.replace(/^.*[/\\]/, ''))
