/** What Stryker is to leave out: changes that no test should notice, and those outside the sample. For its `plugins`. */
import { createHash } from 'node:crypto'

/** The environment variable that says of how many changes one is tried. */
export const sampleVariable = 'MUTATE_SAMPLE'

/** What is used of Stryker's Mutant. */
interface Mutant {
  readonly id: string
  readonly fileName: string
  readonly mutatorName: string
  readonly replacement: string
  readonly location: { readonly start: { readonly line: number; readonly column: number } }
}

/** The same changes every time, wherever the repository lies. */
function isInSample(mutant: Mutant, oneIn: number): boolean {
  const { fileName, mutatorName, replacement, location } = mutant
  const file = fileName.slice(fileName.lastIndexOf('/components/'))
  const { line, column } = location.start
  const text = [file, line, column, mutatorName, replacement].join('\0')
  return createHash('sha256').update(text).digest().readUInt32BE() % oneIn === 0
}

/** Stryker can leave out a change only as one that does not compile: it counts them in the column `errors`. */
const sampleChecker = {
  init: async () => {},
  group: async (mutants: readonly Mutant[]) => [mutants.map(({ id }) => id)],
  check: async (mutants: readonly Mutant[]) => {
    const oneIn = Number(process.env[sampleVariable] ?? '1')
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isInSample(mutant, oneIn)
          ? { status: 'passed' }
          : { status: 'compileError', reason: 'not in the sample' },
      ]),
    )
  },
}

/** What is used of Babel's node. */
interface Node {
  readonly type: string
  readonly value?: unknown
  readonly expression?: Node
  readonly callee?: Node
  readonly object?: Node
  readonly name?: string
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[]
  readonly elements?: readonly unknown[]
  readonly operator?: string
  readonly right?: Node
}

/** What is used of Babel's path. */
interface Path {
  readonly node: Node
  readonly parent?: Node
}

/** `log.warn(…)`: which lines are logged is not promised. */
function isLogLine({ type, expression }: Node): boolean {
  return type === 'ExpressionStatement' && expression?.callee?.object?.name === 'log'
}

/** Text with spaces is prose for a reader: tests promise which error comes, and the words only where clients know them. */
function isProse({ type, value, quasis = [] }: Node): boolean {
  if (type === 'StringLiteral') return typeof value === 'string' && value.includes(' ')
  return type === 'TemplateLiteral' && quasis.some((part) => part.value.raw.includes(' '))
}

/** `?? []` or `= ''`: Stryker puts a made-up text there, which no input has. */
function isEmptyDefault({ node, parent }: Path): boolean {
  const { type, value, elements } = node
  const isEmpty =
    (type === 'ArrayExpression' && elements?.length === 0) ||
    (type === 'StringLiteral' && value === '')
  const isDefault = parent?.type === 'AssignmentPattern' || parent?.operator === '??'
  return isEmpty && isDefault && parent.right === node
}

const noiseIgnorer = {
  shouldIgnore(path: Path): string | undefined {
    if (isLogLine(path.node)) return 'a line of the log'
    if (isProse(path.node)) return 'prose'
    return isEmptyDefault(path) ? 'an empty default' : undefined
  },
}

export const strykerPlugins = [
  { kind: 'Checker', name: 'sample', value: sampleChecker },
  { kind: 'Ignore', name: 'noise', value: noiseIgnorer },
]
