import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
    const path = join(mkdtempSync(join(tmpdir(), 'flags-')), 'config.json')
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

  it('describes flags with their defaults', () => {
    const text = describeFlags(flags)
    expect(text).toContain('--secure-port int\n      Port. (default 6443)')
    expect(text).toContain('(default 15s)')
    expect(text).toContain('--mode a|b')
  })
})
