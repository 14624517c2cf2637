import { describe, expect, it } from "vitest";
import { why } from "../../src/chat/why";
import { lookUp, type Language } from "../../src/i18n/language";
import { caused, told } from "../../src/ui/told";

const speech = (language: Language) => ({ language, known: (prefix: string, code: string) => lookUp(language, `${prefix}.${code}`) });
const [en, zh] = [speech("en"), speech("zh")];

describe("what went wrong", () => {
  it("is told in the reader's language where there are words for its code", () => {
    expect(told(zh, "turn_running", "something is under way in this thread already", "wait")).toEqual({ what: "该会话正在执行另一轮。", detail: null });
    expect(told(en, "turn_running", "something is under way in this thread already")).toEqual({ what: "something is under way in this thread already", detail: null });
  });

  it("keeps the server's words where they name something", () => {
    expect(told(zh, "workspace_gone", "/srv/x is not there", "put it back")).toEqual({ what: "工作区已不在原处。", detail: "/srv/x is not there; put it back" });
    expect(told(zh, "model", "529 overloaded")).toEqual({ what: "无法访问模型。", detail: "529 overloaded" });
  });

  it("falls back to the server's words, and to the code", () => {
    for (const speaker of [en, zh]) {
      expect(told(speaker, "never_heard_of", "something new")).toEqual({ what: "something new", detail: null });
      expect(told(speaker, "never_heard_of", "")).toEqual({ what: "never heard of", detail: null });
      expect(told(speaker, "", "no code at all")).toEqual({ what: "no code at all", detail: null });
      // What every object has is no text of ours.
      expect(told(speaker, "constructor", "odd")).toEqual({ what: "odd", detail: null });
    }
    expect(told(en, "model", "").what).toBe("The model could not be asked.");
  });

  it("is in the language of who reads, not of who asked then", () => {
    expect(told(en, "max_iterations", "本轮已达到 50 次模型调用上限，已停止").what).toContain("50 times");
    expect(told(zh, "max_iterations", "this turn asked the model 7 times, which is the limit, and was stopped").what).toBe("本轮已达到 7 次模型调用上限，已停止。");
    expect(told(zh, "plan_mode", "This is plan mode").what).toBe("当前为思考模式，请切换到 build 模式执行操作");
    expect(told(en, "interrupted", "服务器在本轮进行中停止").what).toBe("The server stopped during this turn.");
  });
});

describe("why a run ended", () => {
  it("is told by the kind, in the words of a run", () => {
    const [message, hint] = ["the agent exited with code 3", "its output is in evidence/agent.log"];
    expect(caused(en, "agent_failed", message, hint)).toEqual({ what: message, detail: null });
    expect(caused(zh, "agent_failed", message, hint)).toEqual({ what: "智能体运行失败。", detail: `${message}; ${hint}` });
    expect(caused(zh, "cancelled", "cancelled by request").what).toBe("运行已按要求停止。");
    expect(caused(en, "cancelled", "cancelled by request").what).toBe("cancelled by request");
    expect(caused(zh, "snapshot", "no room for a copy")).toEqual({ what: "无法建立工作区的副本。", detail: "no room for a copy" });
    expect(caused(zh, "something_new", message)).toEqual({ what: message, detail: null });
  });
});

describe("why a call was refused", () => {
  it("is told by its rule, with the server's words where they say more", () => {
    const call = { tool: "execute", decision: "deny", rule: "chat read list", reason: "plan mode only reads, and `execute` is not on the read list" } as const;
    expect(why(en, call)).toEqual({ text: call.reason, detail: null });
    expect(why(zh, call)).toEqual({ text: "此模式只读取，而 `execute` 不在读取列表中。", detail: null });
    expect(why(zh, { ...call, rule: "commands", reason: "the command cannot be checked: a pipe" })).toEqual({ text: "无法按规则检查此命令。", detail: "the command cannot be checked: a pipe" });
    expect(why(zh, { ...call, rule: "person", reason: "a person said no: 先别: 改" }).text).toBe("您已拒绝：先别: 改");
    expect(why(zh, { ...call, rule: "something new", reason: "as it is" })).toEqual({ text: "as it is", detail: null });
    expect(why(zh, { ...call, rule: "tools.execute", tool: "a`b" }).text).toBe("该模式不允许 `ab`。");
  });
});
