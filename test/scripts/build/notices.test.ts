/** Notices and bill of materials: what the build finds in its bundles, and which packages it refuses to bundle. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Metafile } from 'esbuild'
import { bundledPackages, packagePathOf } from '../../../scripts/build/bundled-packages.ts'
import { noticesOf } from '../../../scripts/build/notices.ts'
import { sbomOf } from '../../../scripts/build/sbom.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const mit =
  'Copyright (c) 2020 Somebody\n\nPermission is hereby granted, free of charge, to any person'

/** A repository with these files; the package that generated sources are made of is there, too. */
function repository(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder('repository')
  const all = {
    'package.json': '{ "name": "own", "version": "1.0.0", "license": "Apache-2.0" }',
    'package-lock.json': '{ "packages": {} }',
    LICENSE: 'Apache License, the whole text',
    'node_modules/@kubernetes/client-node/package.json': manifest('@kubernetes/client-node'),
    'node_modules/@kubernetes/client-node/LICENSE': mit,
    ...files,
  }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const manifest = (name: string, license = 'MIT', version = '1.0.0'): string =>
  JSON.stringify({ name, version, license })

/** The metafile of one bundle with bytes of each of these inputs. */
function bundleOf(inputs: Readonly<Record<string, number>>): Metafile {
  const entries = Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }])
  const output = { bytes: 1, inputs: Object.fromEntries(entries), imports: [], exports: [] }
  return { inputs: {}, outputs: { 'dist/a.js': output } } as unknown as Metafile
}

const notices = (root: string, inputs: Readonly<Record<string, number>>): string =>
  noticesOf(root, bundledPackages(root, [bundleOf(inputs)]))

test('a file belongs to the innermost package that it lies in', () => {
  expect(packagePathOf('node_modules/a/lib/x.js')).toBe('node_modules/a')
  expect(packagePathOf('node_modules/a/node_modules/@b/c/x.js')).toBe(
    'node_modules/a/node_modules/@b/c',
  )
  expect(packagePathOf('components/api/x.ts')).toBeUndefined()
})

test('every package with code in a bundle is in the notices, once for each version, and no other', () => {
  const root = repository({
    'node_modules/a/package.json': manifest('a'),
    'node_modules/a/LICENSE.md': `${mit} A`,
    'node_modules/b/package.json': manifest('b', '(BSD-3-Clause OR GPL-2.0)'),
    'node_modules/b/license': 'Redistribution and use in source and binary forms: B',
    'node_modules/b/node_modules/a/package.json': manifest('a', 'MIT', '2.0.0'),
    'node_modules/b/node_modules/a/COPYING': `${mit} older A`,
    'node_modules/unused/package.json': manifest('unused'),
  })
  const text = notices(root, {
    'scripts/own.ts': 9,
    'node_modules/a/x.js': 5,
    'node_modules/a/y.js': 5,
    'node_modules/b/x.js': 5,
    'node_modules/b/node_modules/a/x.js': 5,
    'node_modules/unused/x.js': 0,
  })
  const titles = [...text.matchAll(/^={80}\n(.*)/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    '@kubernetes/client-node 1.0.0 (MIT)',
    'a 1.0.0 (MIT)',
    'a 2.0.0 (MIT)',
    'b 1.0.0 ((BSD-3-Clause OR GPL-2.0))',
  ])
  for (const part of [`${mit} A\n`, `${mit} older A\n`, 'binary forms: B\n']) {
    expect(text).toContain(part)
  }
})

test('a package without a licence file brings the headers of its files, and the text that they refer to', () => {
  const root = repository({
    'node_modules/a/package.json': manifest('a', '(Apache-2.0 AND BSD-3-Clause)'),
    'node_modules/a/x.js': '// Copyright 2021 A\n//\n// Licensed under Apache\nexport {}\n',
    'node_modules/a/y.js': '// Redistribution and use in source and binary forms\nexport {}\n',
  })
  const text = notices(root, { 'node_modules/a/x.js': 5, 'node_modules/a/y.js': 5 })
  expect(text).toContain('Copyright 2021 A\n\nLicensed under Apache')
  expect(text).toContain('Redistribution and use')
  expect(text).toContain('Apache License, the whole text')
})

test('a block of comments is a header too, and MIT has its terms', () => {
  const root = repository({
    'scripts/build/mit.txt': `${mit}, the whole text`,
    'node_modules/a/package.json': manifest('a'),
    'node_modules/a/x.js': '/**\n * Copyright (c) A\n *\n * MIT, see LICENSE\n */\nexport {}\n',
  })
  const text = notices(root, { 'node_modules/a/x.js': 5 })
  expect(text).toContain(`Copyright (c) A\n\nMIT, see LICENSE\n\n${mit}, the whole text`)
})

test('MIT terms without a copyright notice are no licence', () => {
  const root = repository({
    'scripts/build/mit.txt': mit,
    'node_modules/a/package.json': manifest('a'),
    'node_modules/a/x.js': '/* eslint-disable */\nexport {}\n',
  })
  expect(() => notices(root, { 'node_modules/a/x.js': 5 })).toThrow('a: no text of MIT')
})

test.for([
  ['no licence file', manifest('a'), {}, 'a: no text of MIT'],
  ['the text of another licence', manifest('a', 'ISC'), { LICENSE: mit }, 'a: no text of ISC'],
  ['half of its licences', manifest('a', 'MIT AND ISC'), { LICENSE: mit }, 'a: no text of ISC'],
  [
    'a licence that is not known',
    manifest('a', 'GPL-3.0'),
    { LICENSE: 'GNU' },
    'a: unknown licence "GPL-3.0"',
  ],
  ['no licence', '{ "name": "a", "version": "1.0.0" }', { LICENSE: mit }, 'a: unknown licence ""'],
] as const)('the build fails for a package with %s', ([, described, files, message]) => {
  const own = Object.entries(files).map(([name, text]) => [`node_modules/a/${name}`, text])
  const root = repository({
    'node_modules/a/package.json': described,
    'node_modules/a/x.js': 'export {}\n',
    ...(Object.fromEntries(own) as Record<string, string>),
  })
  expect(() => notices(root, { 'node_modules/a/x.js': 5 })).toThrow(message)
})

test('the bill of materials says what depends on what, as installed', () => {
  const sha512 = Buffer.from('ab').toString('base64')
  const lock = {
    '': { devDependencies: { b: '1' } },
    'node_modules/b': { integrity: `sha512-${sha512}`, dependencies: { a: '2', unbundled: '1' } },
    'node_modules/b/node_modules/a': {},
    'node_modules/a': {},
  }
  const root = repository({
    'package-lock.json': JSON.stringify({ packages: lock }),
    'node_modules/a/package.json': manifest('a'),
    'node_modules/b/package.json': manifest('b', 'MIT AND ISC'),
    'node_modules/b/node_modules/a/package.json': manifest('a', 'MIT', '2.0.0'),
  })
  const files = ['node_modules/a', 'node_modules/b', 'node_modules/b/node_modules/a']
  const inputs = Object.fromEntries(files.map((path) => [`${path}/x.js`, 1]))
  const packages = bundledPackages(root, [bundleOf(inputs)])
  const bill = JSON.parse(sbomOf(root, packages, '2026-01-02T03:04:05Z')) as Record<string, never>
  expect(bill['metadata']).toMatchObject({ timestamp: '2026-01-02T03:04:05Z' })
  expect(bill['dependencies']).toEqual([
    { ref: 'pkg:npm/own@1.0.0', dependsOn: ['pkg:npm/b@1.0.0'] },
    { ref: 'pkg:npm/%40kubernetes/client-node@1.0.0', dependsOn: [] },
    { ref: 'pkg:npm/a@1.0.0', dependsOn: [] },
    { ref: 'pkg:npm/a@2.0.0', dependsOn: [] },
    { ref: 'pkg:npm/b@1.0.0', dependsOn: ['pkg:npm/a@2.0.0'] },
  ])
  const components = bill['components'] as unknown as { name: string }[]
  expect(components.find(({ name }) => name === 'b')).toMatchObject({
    hashes: [{ alg: 'SHA-512', content: '6162' }],
    licenses: [{ expression: 'MIT AND ISC' }],
  })
})
