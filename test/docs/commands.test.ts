/** Commands: every `skiff` command and flag that a hint, an example, a help text or the documentation names exists. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../cluster/cli/run-cli.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { skiffCommands } from '../../scripts/skiff/commands.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { codeBlocks, codeSpans, commandsOf, fileLinks, pages, readDoc, root } from './markdown.ts'

const entries = skiffCommands

/** The help of a command line, as a user reads it. */
async function helpOf(words: readonly string[]): Promise<string> {
  let text = ''
  await runCli(entries, [...words, '--help'], {
    terminal: {
      out: (more) => void (text += more),
      err: () => {},
      isInteractive: false,
      outColors: false,
      errColors: false,
      columns: 100,
    },
    clock: systemClock,
    stateRoot: '/nonexistent',
    environment: {},
    program: 'skiff',
    signal: new AbortController().signal,
  })
  return text
}

/** Command -> the flags in its help. */
const flagsByCommand = new Map<string, ReadonlySet<string>>()
beforeAll(async () => {
  for (const entry of entries) {
    for (const { name } of await entry.load()) {
      const help = await helpOf(name.split(' '))
      const declared = help.slice(help.indexOf('\nFlags:\n'))
      const flags = [...declared.matchAll(/^ {2}--([a-z][a-z0-9-]*)/gm)].map(([, one = '']) => one)
      flagsByCommand.set(name, new Set([...flags, 'deprecation-warnings']))
    }
  }
})

interface Mention {
  readonly where: string
  /** From the word after `skiff` on, to the end of the command line. */
  readonly words: readonly string[]
}

/** Words that stand for a name, not for a command. */
const isPlaceholder = (word: string): boolean => /^(X.*|[A-Z]+|\.\.\.|)$/.test(word)

/** Every `skiff ...` in a text in which it begins a command line. */
function mentions(where: string, text: string): Mention[] {
  const plain = text
    .replaceAll(/(?<=skiff \w+(?: \w+)?)\$\{[^{}]*\}/g, '')
    .replaceAll(/\$\{[^{}]*\}/g, 'X')
    .replaceAll('\\`', '`')
  const pattern =
    /(?<=^|[`'"$(:|]\s*|\bexec )(?:npx )?(?:kube-|kubectl )?skiff ([^`'"\n;|)(#&>\\]*)/gm
  return [...plain.matchAll(pattern)].map(([, line = '']) => ({
    where: `${where}: skiff ${line}`,
    // A template in a template is told apart by nothing but its braces.
    words: line
      .replace(/\$\{.*$/, '')
      .trim()
      .split(/\s+/),
  }))
}

/** What is wrong with a command line; undefined when it can be typed. */
function faultOf({ words }: Mention): string | undefined {
  const [first = '', second = ''] = words
  if (isPlaceholder(first) || first.startsWith('-') || first === 'help') return undefined
  const isGroup = [...flagsByCommand.keys()].some((name) => name.startsWith(`${first} `))
  // A group may be a command itself: `backup FILE` beside `backup verify FILE`.
  const isPlain = flagsByCommand.has(first) && !flagsByCommand.has(`${first} ${second}`)
  const name = isGroup && !isPlain ? `${first} ${second}` : first
  if (isGroup && (second === '' || isPlaceholder(second) || second === '--help')) return undefined
  const flags = flagsByCommand.get(name)
  if (flags === undefined) return `there is no command "${name}"`
  const given = words.flatMap((word) => /^--([a-z][a-z0-9-]*)/.exec(word)?.[1] ?? [])
  const unknown = given.find((flag) => !flags.has(flag))
  return unknown === undefined ? undefined : `${name} has no flag --${unknown}`
}

const faultsIn = (all: readonly Mention[]): string[] =>
  all.flatMap((one) => {
    const fault = faultOf(one)
    return fault === undefined ? [] : [`${one.where} -> ${fault}`]
  })

const sources = globSync('{bin,certs,cluster,scenarios,components/node-agent}/**/*.{ts,js}', {
  cwd: root,
})
const source = (file: string): string => readFileSync(join(root, file), 'utf8')

describe('what the program says', () => {
  test('names commands that exist, with flags that they have', () => {
    const all = sources.flatMap((file) => mentions(file, source(file)))
    expect(all.length).toBeGreaterThan(80)
    expect(faultsIn(all)).toEqual([])
  })

  test('names flags, without their command, that the commands of the same file have', () => {
    const hints =
      /(?:hint|throw usage\(|description|summary)[^\n]*?(?:\n[^\n]*?)??['"`]([^'"`]*--[^'"`]*)['"`]/g
    const own = (file: string): ReadonlySet<string> => {
      const names = [...source(file).matchAll(/^ {2,}name: ['"`]([a-z ]+)['"`],$/gm)]
        .map(([, name = '']) => name)
        .filter((name) => flagsByCommand.has(name))
      const all = names.length > 0 ? names : [...flagsByCommand.keys()]
      return new Set(all.flatMap((name) => [...(flagsByCommand.get(name) ?? [])]))
    }
    const ofComponents = globSync('components/{*,*/*}/options.ts', { cwd: root }).flatMap((file) =>
      [...source(file).matchAll(/^ {2}'([a-z-]+)': flag\./gm)].map(([, name = '']) => name),
    )
    expect(ofComponents.length).toBeGreaterThan(50)
    let count = 0
    const faults = sources
      .filter((file) => file.startsWith('cluster/') || file.startsWith('scenarios/'))
      .flatMap((file) => {
        const known = own(file)
        return [...source(file).matchAll(hints)].flatMap(([, text = '']) => {
          // With its command, a flag is checked above.
          const bare = text
            .replaceAll(/skiff [^`;\n]*/g, '')
            .replaceAll(/(?:kubectl|etcdctl) [^`;\n]*/g, '')
          const flags = [...bare.matchAll(/(?<![\w-])--([a-z][a-z0-9-]+)/g)].map(
            ([, it = '']) => it,
          )
          count += flags.length
          return flags
            .filter((flag) => !known.has(flag) && !ofComponents.includes(flag))
            .map((flag) => `${file}: --${flag}`)
        })
      })
    expect(count).toBeGreaterThan(10)
    expect(faults).toEqual([])
  })

  test('examples of the help can be typed', async () => {
    const lines = (await Promise.all(entries.map(async (entry) => await entry.load())))
      .flat()
      .flatMap(({ examples }) => examples.map(([line]) => line))
    expect(faultsIn(lines.flatMap((line) => mentions('example', line)))).toEqual([])
  })
})

describe.each(pages)('%s', (doc) => {
  test(`commands and flags that ${doc} names exist`, () => {
    const markdown = readDoc(doc)
    const typed = codeBlocks(markdown)
      .filter(({ language }) => language === 'console')
      .flatMap((block) => commandsOf(block).map(({ command }) => command))
    const all = [...codeSpans(markdown), ...typed].flatMap((text) => mentions(doc, text))
    expect(faultsIn(all)).toEqual([])
  })
})

test('no text tells a user to type npx skiff, which would run another package', () => {
  const texts = [...pages, ...sources, ...globSync('.github/**/*.yml', { cwd: root })]
  expect(texts.length).toBeGreaterThan(100)
  // The one that says why.
  const wrong = texts.filter(
    (file) => file !== 'cluster/cli/terminal.ts' && source(file).includes('npx skiff'),
  )
  expect(wrong).toEqual([])
})

test('a wrong command and a wrong flag would be found', () => {
  const wrong = mentions(
    'x',
    "hint: 'see: skiff frob --name x', `skiff up --nods 3`, skiff node ad",
  )
  expect(faultsIn(wrong)).toEqual([
    'x: skiff frob --name x -> there is no command "frob"',
    'x: skiff up --nods 3 -> up has no flag --nods',
  ])
})

test('links of README.md and of what it leads to lead to files that are in the package', () => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: 'pipe',
    env: {
      ...process.env,
      NODE_DISABLE_COMPILE_CACHE: '1',
      npm_config_cache: temporaryFolder('npm'),
    },
  })
  const [{ files }] = JSON.parse(listed) as [{ files: readonly { path: string }[] }]
  const packed = new Set(files.map(({ path }) => path))
  const readable = [...packed].filter((path) => path.endsWith('.md') && !path.startsWith('dist/'))
  expect(readable.length).toBeGreaterThan(20)
  const broken = readable.flatMap((page) =>
    fileLinks(readDoc(page))
      .map((to) => normalize(join(dirname(page), to)).replace(/\/$/, ''))
      .filter((to) => !packed.has(to) && ![...packed].some((path) => path.startsWith(`${to}/`)))
      // Megabytes of pictures are on the site alone.
      .filter((to) => !(to.startsWith('docs/pictures/') && existsSync(join(root, to))))
      .map((to) => `${page}: ${to}`),
  )
  expect(broken).toEqual([])
})
