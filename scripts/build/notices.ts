/** Notices: the licence texts of bundled packages, as one file that the npm package carries. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'

const textFile = /^(?:licen[cs]e|copying|notice|copyrightnotice)/i

/** Words that every text of a licence has. A licence that is new to the bundles is added here, once it has been read. */
const signatures: Readonly<Record<string, RegExp>> = {
  'Apache-2.0': /Apache License/,
  MIT: /Permission is hereby granted, free of charge/,
  ISC: /Permission to use, copy, modify, and\/or distribute/,
  '0BSD': /Permission to use, copy, modify, and\/or distribute/,
  'BSD-2-Clause': /Redistribution and use in source and binary forms/,
  'BSD-3-Clause': /Redistribution and use in source and binary forms/,
}

/** The licences whose texts an SPDX expression asks for; of alternatives, those that we take. */
function licencesOf({ name, license }: BundledPackage): string[] {
  const words = license.replaceAll(/[()]/g, '').trim()
  const terms = words.split(/ AND /).map((term) => {
    const known = term.split(/ OR /).find((one) => Object.hasOwn(signatures, one))
    if (known === undefined) throw new Error(`${name}: unknown licence "${license}"`)
    return known
  })
  return [...new Set(terms)]
}

/** The comments that a source file begins with, lines or a block: where some packages keep their copyright. */
function headerOf(source: string): string {
  const block = /^\/\*\*?([^]*?)\*\//.exec(source)?.[1]
  if (block !== undefined) return block.replaceAll(/^ *\* ?/gm, '').trim()
  const lines = source.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return lines
    .slice(0, end < 0 ? lines.length : end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n')
}

/** Where the full texts are that headers refer to. */
const fullTexts: Readonly<Record<string, string>> = {
  'Apache-2.0': 'LICENSE',
  MIT: 'scripts/build/mit.txt',
}

/** Of a package without a licence file: the distinct headers of its files, and the full texts that they refer to. */
function textFromHeaders(root: string, one: BundledPackage): string[] {
  const sources = one.files.filter((file) => file.startsWith(`${one.path}/`))
  const headers = sources.map((file) => headerOf(readFileSync(join(root, file), 'utf8')))
  const named = [...new Set(headers)].filter((header) => header !== '').toSorted()
  // The terms are for whoever the copyright notice names.
  if (!named.some((header) => /copyright/i.test(header))) return named
  const files = licencesOf(one).flatMap((licence) => fullTexts[licence] ?? [])
  return [...named, ...files.map((file) => readFileSync(join(root, file), 'utf8'))]
}

/** The texts of one package. Throws for a package that does not carry every licence that it names. */
export function licenceTexts(root: string, one: BundledPackage): string {
  const folder = join(root, one.path)
  const names = readdirSync(folder).filter((name) => textFile.test(name))
  const texts = names.toSorted().map((name) => readFileSync(join(folder, name), 'utf8'))
  const all = names.length > 0 ? texts : textFromHeaders(root, one)
  const text = all.map((part) => part.replaceAll('\r\n', '\n').trim()).join('\n\n')
  for (const licence of licencesOf(one)) {
    if (!signatures[licence]?.test(text)) throw new Error(`${one.name}: no text of ${licence}`)
  }
  return text
}

const rule = '='.repeat(80)

/** Throws for the first package whose licence is unknown or has no text. */
export function noticesOf(root: string, packages: readonly BundledPackage[]): string {
  const parts = packages.map((one) => {
    const home = one.homepage === undefined ? '' : `\n${one.homepage}`
    return `${rule}\n${one.name} ${one.version} (${one.license})${home}\n\n${licenceTexts(root, one)}\n`
  })
  return (
    'The JavaScript files beside this one contain code or texts of the packages below, under the licences given.\n\n' +
    parts.join('\n')
  )
}
