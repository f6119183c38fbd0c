import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  defineFlags,
  describeFlags,
  flag,
  formatDuration,
  parseDuration,
  parseFlags,
} from '../../components/component-base/flags.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const flags = defineFlags({
  config: flag.string('Configuration file.'),
  'bind-address': flag.string('Address.', '127.0.0.1'),
  'secure-port': flag.int('Port.', 6443),
  'leader-elect': flag.bool('Elect.', true),
  'lease-duration': flag.duration('Lease.', 15_000),
  controllers: flag.list('Controllers.', ['*']),
  'node-labels': flag.map('Labels.', {}),
  mode: flag.string('Mode.', 'a', { choices: ['a', 'b'] }),
})
const parse = (...args: string[]) => parseFlags(flags, args)

describe('flags', () => {
  it('reads every type in every spelling', () => {
    expect(
      parse(
        '--bind-address=::1',
        '--secure-port',
        '0',
        '--leader-elect=false',
        '--lease-duration=1h0m0s',
        '--controllers=*,-a',
        '--controllers',
        'b',
        '--node-labels=x=1,y=a=b',
        '-mode=b',
      ),
    ).toMatchObject({
      'bind-address': '::1',
      'secure-port': 0,
      'leader-elect': false,
      'lease-duration': 3_600_000,
      controllers: ['*', '-a', 'b'],
      'node-labels': { x: '1', y: 'a=b' },
      mode: 'b',
    })
    expect(parse('--leader_elect')['leader-elect']).toBe(true)
    expect(parse()['controllers']).toEqual(['*'])
  })

  it('names the flag most like an unknown one', () => {
    expect(() => parse('--securport=1')).toThrow(
      'unknown flag --securport; did you mean --secure-port?',
    )
    expect(() => parse('--zzz')).toThrow(/^unknown flag --zzz$/)
  })

  it.each([
    [['--secure-port=many'], 'invalid value "many" for --secure-port: must be a whole number'],
    [['--secure-port'], '--secure-port needs a value'],
    [['--lease-duration=5'], 'must be a duration'],
    [['--leader-elect=perhaps'], 'must be true or false'],
    [['--node-labels=x'], 'must be key=value'],
    [['--mode=c'], 'must be one of a, b'],
    [['stray'], 'unexpected argument "stray"'],
    [['--config=/does/not/exist'], 'cannot read --config'],
  ])('refuses %s', (args, message) => {
    expect(() => parse(...args)).toThrow(message)
  })

  it('takes values from a configuration file, which the command line overrides', () => {
    const path = join(temporaryFolder('flags'), 'config.json')
    const write = (value: unknown): void => writeFileSync(path, JSON.stringify(value))
    write({
      'secure-port': 1,
      'lease-duration': '40s',
      controllers: ['x'],
      'node-labels': { a: 'b' },
    })
    chmodSync(path, 0o600)
    expect(parse('--config', path, '--secure-port=2')).toMatchObject({
      'secure-port': 2,
      'lease-duration': 40_000,
      controllers: ['x'],
      'node-labels': { a: 'b' },
      'bind-address': '127.0.0.1',
    })
    write({ constructor: 1 })
    expect(() => parse('--config', path)).toThrow('unknown flag --constructor')
    writeFileSync(path, '{"token": "s3cret" oops}')
    expect(() => parse('--config', path)).toThrow(/it is not valid JSON(?!.*s3cret)/)
    write({ 'secure-prot': 1 })
    expect(() => parse('--config', path)).toThrow('did you mean --secure-port?')
    write({ 'secure-port': 'x' })
    expect(() => parse('--config', path)).toThrow('whole number')
    write({ 'leader-elect': 1 })
    expect(() => parse('--config', path)).toThrow('leader-elect')
  })

  it.each([
    ['40s', 40_000],
    ['5m', 300_000],
    ['1h0m0s', 3_600_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['0', 0],
    ['-1s', -1000],
    ['', undefined],
    ['5', undefined],
    ['5 s', undefined],
    ['s', undefined],
  ])('reads the duration %j as %j', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it('writes durations as it reads them', () => {
    expect([0, 250, 40_000, 300_000, 3_600_000, -1000].map(formatDuration)).toEqual([
      '0s',
      '250ms',
      '40s',
      '5m0s',
      '1h0m0s',
      '-1s',
    ])
  })

  it('refuses numbers below the least, from a file too, and keeps commas of whole values', () => {
    const declared = defineFlags({
      config: flag.string('Configuration file.'),
      wait: flag.duration('How long.', 1000, { least: 0 }),
      count: flag.int('How many.', 1, { least: 1 }),
      set: flag.list('Settings.', [], { isWhole: true }),
    })
    expect(() => parseFlags(declared, ['--wait=-1s'])).toThrow(
      'invalid value "-1s" for --wait: must not be below 0s',
    )
    const folder = temporaryFolder('flags')
    const path = join(folder, 'config.json')
    writeFileSync(path, JSON.stringify({ count: 0 }))
    expect(() => parseFlags(declared, [`--config=${path}`])).toThrow('must not be below 1')
    expect(parseFlags(declared, ['--wait=0', '--set=a=b,c', '--set', 'd']).set).toEqual([
      'a=b,c',
      'd',
    ])
  })

  it('tells of each deprecated flag that is given, and takes its value all the same', () => {
    const declared = defineFlags({
      config: flag.string('Configuration file.'),
      old: flag.int('The old one.', 1, { deprecated: 'use --new instead.' }),
      older: flag.list('The older one.', [], { deprecated: 'it has no effect.' }),
      new: flag.int('The new one.', 1),
    })
    const told: string[] = []
    const values = parseFlags(declared, ['--old=2', '--older=a', '--older=b', '--new=3'], (text) =>
      told.push(text),
    )
    expect(values).toMatchObject({ old: 2, older: ['a', 'b'], new: 3 })
    expect(told).toEqual([
      'Flag --old has been deprecated, use --new instead.',
      'Flag --older has been deprecated, it has no effect.',
    ])
    parseFlags(declared, ['--new=3'], () => expect.unreachable())

    const path = join(temporaryFolder('flags'), 'config.json')
    writeFileSync(path, JSON.stringify({ old: 4 }))
    const read: string[] = []
    expect(parseFlags(declared, [`--config=${path}`], (text) => read.push(text)).old).toBe(4)
    expect(read).toEqual(told.slice(0, 1))
    expect(describeFlags(declared)).toContain(
      '--old int\n      The old one. (default 1) (DEPRECATED: use --new instead.)\n',
    )
  })

  it('describes flags with their defaults', () => {
    const text = describeFlags(flags)
    expect(text).toContain('--secure-port int\n      Port. (default 6443)')
    expect(text).toContain('(default 15s)')
    expect(text).toContain('--mode a|b')
  })
})
