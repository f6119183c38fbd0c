/** Names: files, folders, links, npm scripts and scenarios that the documentation names exist. */
import { parseAuthorizationConfiguration } from '../../components/api-server/authz/configuration/authorization-configuration.ts'
import { dialects } from '../../components/api/dialect.ts'
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { parseStory } from '../../explore/story.ts'
import { parseScenario } from '../../scenarios/engine/scenario.ts'
import { parseLesson } from '../../console/lessons-engine/lesson.ts'
import { sidebar } from '../../docs/.vitepress/sidebar.ts'
import {
  codeBlocks,
  codeSpans,
  commandsOf,
  excerpted,
  fileLinks,
  pages,
  readDoc,
  root,
} from './markdown.ts'

const isHidden = (path: string): boolean => /(^|\/)(node_modules|dist|\.[^/]*)(\/|$)/.test(path)
const sources = globSync(
  '{bin,certs,cluster,components,docs,embedded,examples,library,scenarios,scripts,test}/**/*',
  {
    cwd: root,
  },
).filter((path) => !isHidden(path))

/** A name is a path from the root or from `components/`, or the end of one file's path that no other file shares. */
function isSource(name: string): boolean {
  if (existsSync(join(root, name)) || existsSync(join(root, 'components', name))) return true
  return sources.filter((path) => path.endsWith(`/${name.replace(/\/$/, '')}`)).length === 1
}

/** Source files and folders in code style. What ends otherwise, such as `cluster.json`, is made at run time. */
function namedSources(markdown: string): string[] {
  return codeSpans(markdown).filter((span) => /^[\w./-]+\.(ts|js|tsv|md|yaml)$/.test(span))
}

describe.each(pages)('%s', (doc) => {
  const markdown = readDoc(doc)

  test(`links of ${doc} lead to files that exist`, () => {
    const broken = fileLinks(markdown).filter((to) => !existsSync(join(root, dirname(doc), to)))
    expect(broken).toEqual([])
  })

  test(`source files that ${doc} names exist`, () => {
    expect(namedSources(markdown).filter((name) => !isSource(name))).toEqual([])
  })

  test(`npm scripts that ${doc} names exist`, () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = [...markdown.matchAll(/\bnpm run (?:-\S+ )*([\w:-]+)/g)].map(([, name]) => name)
    expect(named.filter((name) => !Object.hasOwn(scripts, name ?? ''))).toEqual([])
  })

  test(`YAML in ${doc} is a valid scenario or lesson, a valid configuration, or a file that a command reads`, () => {
    const blocks = codeBlocks(markdown)
    const typed = blocks
      .filter(({ language }) => language === 'console')
      .flatMap((block) => commandsOf(block).map(({ command }) => command))
    for (const { language, text, line, file } of blocks) {
      if (language !== 'yaml') continue
      if (/^ +- heading: /m.test(text)) {
        parseLesson(`${'\n'.repeat(line)}${text}`, doc)
      } else if (file === 'story.yaml') {
        parseStory(`${'\n'.repeat(line)}${text}`, doc)
      } else if (/^steps:$/m.test(text) && !/^jobs:$/m.test(text)) {
        parseScenario(`${'\n'.repeat(line)}${text}`, doc)
      } else if (text.includes('kind: AuthorizationConfiguration')) {
        // Any file that is there: what it holds is read later.
        const source = text.replaceAll(
          /kubeConfigFile: [^ }]+/g,
          `kubeConfigFile: ${join(root, doc)}`,
        )
        expect(parseAuthorizationConfiguration(source, dialects.kubernetes)).not.toEqual([])
      } else {
        expect(file, `line ${line} names its file`).toBeDefined()
        expect(loadAll(text).length).toBeGreaterThan(0)
        const isRead = typed.some((command) => command.includes(file ?? ''))
        // A code host reads what is in its folder.
        expect(isRead || file?.startsWith('.github/'), `line ${line} is read`).toBe(true)
      }
    }
  })
})

test('code in other languages is a part of an example', () => {
  const examples = globSync('examples/**/*.{py,rs,java}', { cwd: root }).map(readDoc)
  const shown = pages.flatMap((page) =>
    codeBlocks(readDoc(page)).filter(({ language }) => excerpted.includes(language)),
  )
  expect(shown.length).toBeGreaterThan(1)
  for (const { text } of shown)
    expect(
      examples.filter((source) => source.includes(text)),
      text,
    ).toHaveLength(1)
})

test('every example has a README, whose links lead to files that exist', () => {
  for (const name of readdirSync(join(root, 'examples'))) {
    const readme = join('examples', name, 'README.md')
    const links = fileLinks(readDoc(readme)).map((to) => join(root, dirname(readme), to))
    expect(links.filter((path) => !existsSync(path))).toEqual([])
  }
})

test('the checks above have something to check', () => {
  expect(fileLinks(readDoc('README.md')).length).toBeGreaterThan(4)
  expect(namedSources(readDoc('docs/request-flow.md')).length).toBeGreaterThan(20)
  expect(codeBlocks(readDoc('docs/scenarios.md')).some((one) => one.language === 'yaml')).toBe(true)
  expect(isSource('api-server/no-such-file.ts')).toBe(false)
})

test('docs/architecture.md lists exactly the folders that hold code', () => {
  const listed = [...readDoc('docs/architecture.md').matchAll(/^\| `([^`]+)` /gm)].map(
    ([, it]) => it,
  )
  const foldersIn = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !isHidden(entry.name))
      .map(({ name }) => name)
  const actual = [
    ...foldersIn('.').filter((name) => !['bin', 'components', 'docs'].includes(name)),
    ...foldersIn('components').map((name) => `components/${name}`),
  ]
  expect(listed.toSorted()).toEqual(actual.toSorted())
})

test('folders that docs/request-flow.md and CONTRIBUTING.md name exist', () => {
  const named = ['docs/request-flow.md', 'CONTRIBUTING.md'].flatMap((doc) =>
    codeSpans(readDoc(doc)).filter((span) => /^[\w-]+(\/[\w-]+)*\/$/.test(span)),
  )
  expect(named.length).toBeGreaterThan(4)
  expect(named.filter((name) => !isSource(name))).toEqual([])
})

test('docs/scenarios.md lists exactly the scenarios that ship', () => {
  const section = readDoc('docs/scenarios.md').split('## What ships')[1] ?? ''
  const listed = [...section.matchAll(/^\| `([^`]+)` /gm)].map(([, name]) => `${name}.yaml`)
  expect(listed.toSorted()).toEqual(globSync('*.yaml', { cwd: join(root, 'scenarios') }).toSorted())
})

describe('the sidebar', () => {
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link))
  /** Folders with an index of their own. */
  const isIndexed = (path: string): boolean => /^\/?(reference|spec)\//.test(path)

  test('leads to every page of docs/, once', () => {
    const routes = globSync('**/*.md', { cwd: join(root, 'docs') })
      .filter((path) => !isIndexed(path))
      .map((path) => `/${path.replace(/(^|\/)index\.md$|\.md$/, '$1')}`)
    expect(routes.length).toBeGreaterThan(20)
    expect(links.filter((link) => !isIndexed(link)).toSorted()).toEqual(routes.toSorted())
  })
})
